"""Means over runs: solved by hand, against a simulation, what is undefined; and the report's sections made of them."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from outrisk.assess.suite.over_runs import mean_of_folds, mean_of_runs, over_runs
from outrisk.errors import ConfigError
from outrisk.records.files import read_rows, write_rows
from outrisk.records.schema import MeanOfRuns
from outrisk.report.sections.suite_families import family
from outrisk.risk.rows import Row

Z = stats.norm.ppf(0.975)
NAN = math.nan
shares = st.floats(0, 1)


def test_runs_that_agree_have_the_interval_of_one():
    found = mean_of_runs([(0.5, 0.4, 0.7)] * 3)
    assert (found.value, *found.interval) == pytest.approx((0.5, 0.4, 0.7))
    assert mean_of_folds([found]).interval == pytest.approx((0.4, 0.7))


def test_two_runs_solved_by_hand():
    found = mean_of_runs([(0.4, 0.3, 0.6), (0.6, 0.5, 0.8)])
    between = 0.02 / 2  # variance of 0.4 and 0.6, over two runs
    for side, distance in ((0, 0.1), (1, 0.2)):
        variance = (distance / Z) ** 2 + between
        margin = stats.t.ppf(0.975, variance**2 / between**2) * math.sqrt(variance)
        assert abs(found.interval[side] - 0.5) == pytest.approx(margin)
    alike = mean_of_folds([found, found])
    for side in (0, 1):  # half the variance, twice the degrees of freedom
        variance = found.sampling[side] / 2 + between / 2
        margin = stats.t.ppf(0.975, variance**2 / (2 * (between / 4) ** 2)) * math.sqrt(variance)
        assert abs(alike.interval[side] - 0.5) == pytest.approx(margin)


def test_undefined_runs_and_folds_are_left_out():
    assert mean_of_runs([(NAN, NAN, NAN), (0.5, 0.4, 0.6)]).interval == pytest.approx((0.4, 0.6))
    for nothing in (mean_of_runs([(NAN, NAN, NAN)]), mean_of_folds([mean_of_runs([])])):
        assert math.isnan(nothing.value) and all(map(math.isnan, nothing.interval))
    without = mean_of_runs([(0.5, NAN, NAN), (0.5, 0.4, 0.6)])
    assert without.value == 0.5 and all(map(math.isnan, without.interval))
    assert mean_of_folds([mean_of_runs([]), mean_of_runs([(0.5, 0.4, 0.6)])]).value == 0.5


@given(st.lists(st.tuples(shares, st.floats(0.01, 0.2), st.floats(0.01, 0.2)), min_size=2, max_size=5))
def test_an_interval_holds_the_mean_and_is_no_narrower_than_that_of_sampling(runs):
    found = mean_of_runs([(value, value - below, value + above) for value, below, above in runs])
    low, high = found.interval
    below, above = (np.mean([run[side] for run in runs]) for side in (1, 2))
    assert low <= found.value - below + 1e-12
    assert high >= found.value + above - 1e-12


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """Runs share the error of the sampled records and have one of their own each."""
    rng, covered, n = np.random.default_rng(1), 0, 2_000
    for _ in range(n):
        values = rng.normal(0, 1) + rng.normal(0, 1.5, 4)
        low, high = mean_of_runs([(value, value - Z, value + Z) for value in values]).interval
        covered += low <= 0 <= high
    assert covered / n == pytest.approx(0.95, abs=0.02)


def result(level, fold, rows):
    place = SimpleNamespace(level=level, index=int(fold[-1]) - 1, name=fold, holdout=object())
    return SimpleNamespace(job=SimpleNamespace(fold=place), measures=[row for each in rows.values() for row in each])


def privacy(metric, value, holdout, reason="", detail="", note=""):
    difference = value - holdout
    return Row(
        family="privacy", measure=metric, original=value, original_low=value - 0.1, original_high=value + 0.1,
        holdout=holdout, difference=difference, low=difference - 0.1, high=difference + 0.1, reason=reason,
        detail=detail, note=note,
    )  # fmt: skip


def cap(measure, size, original, holdout, reason="", detail=""):
    difference = original - holdout
    return Row(
        family="cap", measure=measure, size=size, baseline=0.5, reason=reason, detail=detail, original=original,
        holdout=holdout, difference=difference, low=difference - 0.1, high=difference + 0.1,
    )  # fmt: skip


LATE = ("timed_out", "20")
RESULTS = [
    result(2, "1", {"privacy": [privacy("NNAA", 0.6, 0.5), privacy("MDCR", NAN, NAN, "undefined", "median is 0")],
                    "cap": [cap("GCAP", "3", 0.4, 0.2), cap("GCAP", "all", 0.4, 0.2)]}),
    result(2, "1", {"privacy": [privacy("NNAA", 0.8, 0.5, note="asked about a sample: 9 of 10"),
                                privacy("MDCR", 0.4, 0.4)],
                    "cap": [cap("GCAP", "3", 0.6, 0.2), cap("GCAP", "all", 0.6, 0.2)]}),
    result(2, "2", {"privacy": [privacy("NNAA", 0.5, 0.5, note="missing numbers"),
                                privacy("MDCR", NAN, NAN, "failed", "died")],
                    "cap": [cap("GCAP", "3", NAN, NAN, *LATE), cap("GCAP", "all", NAN, NAN, *LATE)]}),
]  # fmt: skip


def test_rows_by_fold_and_over_folds():
    rows = pd.DataFrame(list(over_runs(RESULTS))).set_index(["family", "fold", "size", "measure"])
    first, whole = rows.loc[("privacy", "1", "", "NNAA")], rows.loc[("privacy", "", "", "NNAA")]
    assert (first["original"], first["holdout"], first["difference"]) == pytest.approx((0.7, 0.5, 0.2))
    assert (first["least"], first["most"], first["runs"]) == pytest.approx((0.1, 0.3, 2))
    assert whole["difference"] == pytest.approx((0.2 + 0.0) / 2)
    assert (whole["runs"], whole["runs_defined"], whole["note"]) == (3, 3, "missing numbers")
    assert rows.loc[("privacy", "1", "", "MDCR"), ["reason", "detail", "runs_defined"]].to_list() == [
        "undefined",
        "median is 0",
        1,
    ]
    assert rows.loc[("privacy", "2", "", "MDCR"), ["reason", "detail"]].to_list() == ["failed", "died"]
    late = rows.loc[("cap", "2", "3", "GCAP")]
    assert (late["reason"], late["detail"], late["runs_defined"]) == ("timed_out", "20", 0)
    assert math.isnan(late["original"])
    assert rows.loc[("cap", "", "3", "GCAP"), "difference"] == pytest.approx(0.3)


def test_original_and_holdout_are_means_over_the_runs_that_are_compared():
    rows = [privacy("NNAA", 0.6, 0.5), privacy("NNAA", 0.9, NAN, "undefined", "holdout: one record")]
    (found,) = over_runs([result(2, "1", {"privacy": [row]}) for row in rows])
    assert (found.original, found.holdout, found.difference) == pytest.approx((0.6, 0.5, 0.1))
    assert (found.reason, found.detail, found.runs_defined) == ("undefined", "holdout: one record", 1)


def test_the_interval_of_a_share_stays_one():
    (found,) = over_runs([result(1, "1", {"privacy": [privacy("NNAA", value, 0.5)]}) for value in (0.1, 0.9)])
    assert (found.original_low, found.original_high) == (0, 1)
    (nothing,) = over_runs([result(1, "1", {"privacy": [privacy("NNAA", NAN, 0.5, "failed", "died")]})])
    assert math.isnan(nothing.original_low) and math.isnan(nothing.original_high)


def families(directory, level):
    """The families of a run directory that there are rows of, as the report shows them."""
    path = directory / "over_runs.csv"
    results = SimpleNamespace(means=read_rows(path, MeanOfRuns) if path.is_file() else [], shown_level=level)
    found = [family(results, name) for name in ("disclosure", "attribution", "privacy")]
    return [each for each in found if each is not None]


def test_the_sections_show_means_and_say_what_is_undefined(tmp_path):
    write_rows(tmp_path / "over_runs.csv", MeanOfRuns, over_runs(RESULTS))
    attribution, metrics = families(tmp_path, 2)
    assert (attribution.level, metrics.level, metrics.runs, metrics.against) == (2, 2, 3, True)
    nnaa, mdcr = metrics.tables[0].rows
    assert (nnaa["original"], nnaa["holdout"], nnaa["difference"]) == ("0.600", "0.500", "+0.100")
    assert nnaa["range"] == "0.000 to +0.300"
    assert "to" in nnaa["interval"]
    assert mdcr["original"] == "0.400"
    assert metrics.notes[:2] == [
        "NNAA: missing numbers",
        "MDCR: 2 of 3 runs left out: undefined: median is 0; failed: died",
    ]
    assert metrics.notes[2].startswith("Of a fold with a single run the variation between runs is not known")
    by_fold = {(row["fold"], row["measure"]): row for row in metrics.folds[0].rows}
    assert by_fold["half 2", "MDCR"]["original"] == "failed"
    assert [row["size"] for row in attribution.tables[0].rows] == ["3 keys"]


def test_a_single_fold_is_shown_once(tmp_path):
    results = [result(1, "1", {"privacy": [privacy("NNAA", value, 0.5)]}) for value in (0.4, 0.6)]
    write_rows(tmp_path / "over_runs.csv", MeanOfRuns, over_runs(results))
    (section,) = families(tmp_path, 1)
    assert (section.level, section.runs, section.folds, section.notes) == (1, 2, [], [])
    assert section.tables[0].rows[0]["original"] == "0.500"


def test_an_older_run_has_no_section_and_a_broken_file_is_told(tmp_path):
    assert families(tmp_path, 1) == []
    (tmp_path / "over_runs.csv").write_text("level,fold\n1,whole\n")
    with pytest.raises(ConfigError, match=r"over_runs.csv cannot be read"):
        families(tmp_path, 1)
