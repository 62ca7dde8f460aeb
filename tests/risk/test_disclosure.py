"""The disclosure suite against a slow twin from the definitions, on hand-made tables, and on bad input."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from disclosure_twin import MISSING, Twin, records
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outrisk.codebook import codebook_from_dict
from outrisk.errors import RiskError
from outrisk.risk import RiskWarning, disclosure, multi_disclosure
from outrisk.risk.coding.classes import ORIGINAL, SYNTHETIC, Coding, cross
from outrisk.risk.coding.variables import from_frames
from outrisk.risk.intervals.jackknife import deal
from outrisk.risk.synthpop.claims import Claims, Exclusions
from outrisk.risk.synthpop.margins import MEASURES

KEYS = ["a", "b"]
LEVELS = {"a": ["p", "q", "r", None], "b": [1.0, 2.0, 2.5, math.nan], "t": ["x", "y", "z", None]}


def frames(least=1, most=14):
    """Small tables: few levels, so that classes are shared, missed and disclosed; some levels on one side only."""

    def build(rows):
        columns = list(zip(*rows, strict=True))
        return pd.DataFrame(
            {
                "a": pd.Series(columns[0], dtype="str"),
                "b": pd.Series(columns[1], dtype="float"),
                "t": pd.Series(columns[2], dtype="str"),
            }
        )

    row = st.tuples(*(st.sampled_from(LEVELS[name]) for name in ("a", "b", "t")))
    known = st.lists(row, min_size=least, max_size=most).filter(lambda rows: any(r[2] is not None for r in rows))
    return known.map(build)


OPTIONS = st.fixed_dictionaries(
    {
        "not_target_levels": st.sampled_from([(), ("x",), ("y", "z")]),
        "use_target_na": st.booleans(),
        "use_keys_na": st.one_of(st.booleans(), st.tuples(st.booleans(), st.booleans())),
        "exclude": st.sampled_from([(), (("a", "p", "x"),), (("b", "2.5", "y"), ("a", MISSING, "z"))]),
        "denom_lim": st.integers(1, 3),
        "exclude_over_denom_lim": st.booleans(),
    }
)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def as_text(frame):
    """Numbers as the labels write them."""
    return frame.assign(b=frame["b"].map(lambda value: value if math.isnan(value) else f"{value:g}"))


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWarning)
        return disclosure(*arguments, **options)


@quick
@given(frames(), frames(), frames(), OPTIONS, st.integers(0, 3), st.integers(20, 80))
def test_every_measure_is_that_of_the_slow_twin(original, synthetic, holdout, options, first, second):
    flags = {"thresh_1way": (first, second), "thresh_2way": (first, second)}
    found = quiet(original, synthetic, holdout, keys=KEYS, target="t", **options, **flags)
    twin = Twin(as_text(original), as_text(synthetic), KEYS, "t", **options)
    expected = twin.measures()
    got = {**found.identity.iloc[0], **found.attribute.iloc[0], **found.cap.iloc[0]}
    assert got == pytest.approx(expected, rel=1e-12, nan_ok=True)
    for name, table in twin.tables().items():
        row = found.exclusions[(found.exclusions["side"] == ORIGINAL) & (found.exclusions["table"] == name)].iloc[0]
        assert {step: row[step] for step in (*twin.rules, "remaining")} == twin.cut(table)[1]
    order = ["x", "y", "z", MISSING]
    flagged = twin.check_1way(first, second, order.index)
    assert list(found.check_1way["level"]) == ([] if flagged is None else [flagged])
    columns = ["target_level", "key", "key_level", "npairs", "pct_target_in_key_level"]
    pairs = [tuple(row) for row in found.check_2way[columns].itertuples(index=False)]
    assert pairs == [(*row[:4], pytest.approx(row[4])) for row in twin.check_2way(first, second)]


@quick
@given(frames(), frames(), frames(), OPTIONS)
def test_the_margin_is_the_same_measure_of_the_holdout(original, synthetic, holdout, options):
    found = quiet(original, synthetic, holdout, keys=KEYS, target="t", **options).marginal.set_index("measure")
    na = original["t"].isna().any()  # whether missing targets are dropped is decided by the original
    sides = [
        Twin(as_text(side), as_text(synthetic), KEYS, "t", **options, drop_target_na=na) for side in (original, holdout)
    ]
    values = [side.measures() for side in sides]
    for measure in MEASURES:
        row = found.loc[measure]
        assert row["original"] == pytest.approx(values[0][measure], nan_ok=True)
        assert row["holdout"] == pytest.approx(values[1][measure], nan_ok=True)
        assert row["marginal"] == pytest.approx(values[0][measure] - values[1][measure], nan_ok=True, abs=1e-9)
        if math.isnan(row["low"]) or math.isnan(row["marginal"]):
            assert row["reason"]
        else:
            assert row["low"] < row["high"]
    base = values[0]["baseCAPd"]
    assert found.loc["DCAP", "baseline"] == found.loc["TCAP", "baseline"] == pytest.approx(base)
    expected = math.nan if options["exclude_over_denom_lim"] else sides[0].expected_disco()
    assert found.loc["DiSCO", "baseline"] == pytest.approx(expected, nan_ok=True)


@quick
@given(frames(least=2), frames(), st.integers(2, 5))
def test_a_replicate_is_the_measure_without_the_group(original, synthetic, groups):
    """The jackknife's counts without a group are those of a data frame without its records."""
    tables = from_frames(original, synthetic, original, [*KEYS, "t"])
    levels = {name: tables.levels(name) for name in (*KEYS, "t")}
    coding = Coding(
        tuple(levels), *(tuple(getattr(x, y) for x in levels.values()) for y in ("labels", "codes")), tables.lengths
    )
    equivalence = cross(coding, KEYS, "t")
    claims = Claims(equivalence, SYNTHETIC, Exclusions({}))
    groups = min(groups, len(original))
    for rows in deal(len(original), groups, 3, ORIGINAL):
        rest = original.drop(index=rows)
        without = np.bincount(equivalence.records[ORIGINAL][rows], minlength=len(equivalence.cell_class))
        expected = Twin(as_text(rest), as_text(synthetic), KEYS, "t").measures()
        found = claims.attack(equivalence.counts[ORIGINAL] - without)
        assert found == pytest.approx({name: expected[name] for name in found}, nan_ok=True)


@quick
@given(frames(), frames(), OPTIONS)
def test_record_scores_average_to_their_measures(original, synthetic, options):
    options = options | {"exclude_over_denom_lim": False}
    result = quiet(original, synthetic, keys=KEYS, target="t", **options)
    twin = Twin(as_text(original), as_text(synthetic), KEYS, "t", **options)
    scores = twin_scores(twin)
    values = result.marginal.set_index("measure")["original"]
    for measure, of_record in scores.items():
        counted = [score for score in map(of_record, twin.d_records) if score is not None]
        mean = sum(counted) / len(counted) if counted else math.nan
        assert values[measure] == pytest.approx(mean, nan_ok=True)


def twin_scores(twin):
    """Measure -> score of a record, None where it does not count."""
    s = twin.cut(twin.s)[0]
    sq = {q: sum(n for (_, other), n in s.items() if other == q) for _, q in s}
    claims = {q: {t for t, other in twin.s if other == q} for q in twin.sq}
    kept = lambda r: not any(rule(*r, 0) for rule in twin.rules.values())  # noqa: E731
    right = lambda r: float(kept(r) and claims.get(r[1]) == {r[0]})  # noqa: E731
    return {
        "iS": lambda r: float(kept(r) and r[1] in twin.sq),
        "DiS": lambda r: float(kept(r) and len(claims.get(r[1], ())) == 1),
        "DiSCO": right,
        "DCAP": lambda r: kept(r) * s.get(r, 0) / sq[r[1]] if r[1] in sq else 0.0,
        "TCAP": lambda r: right(r) if kept(r) and r[1] in sq else None,
    }


@quick
@given(frames(), frames())
def test_profiles_count_records_by_the_size_and_the_levels_of_their_class(original, synthetic):
    found = quiet(original, synthetic, keys=KEYS, target="t").profiles.set_index(["table", "profile"])
    for table, frame in ((ORIGINAL, original), (SYNTHETIC, synthetic)):
        coded = records(as_text(frame), KEYS, "t")
        size = [sum(q == other for _, other in coded) for _, q in coded]
        levels = [len({t for t, other in coded if other == q}) for _, q in coded]
        for profile, numbers in (("k-anonymity", size), ("l-diversity", levels)):
            bins = [lambda n: n == 1, lambda n: n == 2, lambda n: 3 <= n <= 4, lambda n: 5 <= n <= 9, lambda n: n > 9]
            assert list(found.loc[(table, profile)]) == [sum(map(inside, numbers)) for inside in bins]


def table(a, t, **more):
    return pd.DataFrame({"a": list(a), "t": list(t), **more})


def test_a_hand_solved_table():
    original, synthetic = table("ppqrs", "xyxzz"), table("pqqrt", "xxxyz")
    found = disclosure(original, synthetic, keys=["a"], target="t")
    # Unique in the original q, r, s; met q, r; unique in both r. Claims: p x, q x, r y, t z; right: p x, q x.
    assert found.identity.iloc[0].to_dict() == {"UiO": 0.6, "UiS": 0.6, "UiOiS": 0.4, "repU": 0.2}
    attribute = found.attribute.iloc[0].to_dict()
    assert attribute == {
        "Dorig": 0.6, "Dsyn": 1, "iS": 0.8, "DiS": 0.8, "DiSCO": 0.4, "DiSDiO": 0.2, "max_denom": 1, "mean_denom": 1,
    }  # fmt: skip
    cap = found.cap.iloc[0].to_dict()
    assert cap == pytest.approx({"baseCAPd": 0.36, "CAPd": 0.8, "CAPs": 1, "DCAP": 0.4, "TCAP": 0.5})
    assert found.marginal["reason"].eq("no holdout").all() and found.marginal["marginal"].isna().all()


def test_without_a_match_what_is_undefined_is_nan():
    found = disclosure(table("pp", "xy"), table("q", "x"), keys=["a"], target="t")
    assert found.attribute["DiSCO"].item() == 0 and math.isnan(found.attribute["mean_denom"].item())
    assert math.isnan(found.cap["TCAP"].item()) and found.cap["DCAP"].item() == 0


def test_an_interval_is_wide_enough_where_nothing_is_disclosed():
    """No record met on either side: the difference is 0, and not for certain."""
    found = disclosure(
        table("pq" * 20, "xy" * 20), table("r", "x"), table("pq" * 20, "xy" * 20), keys=["a"], target="t"
    )
    rows = found.marginal.set_index("measure")
    assert rows.loc["DiSCO", "low"] < -0.01 < 0.01 < rows.loc["DiSCO", "high"]
    assert math.isnan(rows.loc["repU", "low"])
    assert "no interval" in rows.loc["repU", "reason"]
    assert math.isnan(rows.loc["TCAP", "marginal"]) and rows.loc["TCAP", "reason"]


@pytest.mark.slow
def test_intervals_hold_the_true_difference_about_as_often_as_they_say():
    """Original and holdout of one population: the difference is 0. For uniques the intervals are wide (see margins)."""
    rng = np.random.default_rng(1)

    def draw(n):
        a, b = rng.integers(0, 12, n), rng.integers(0, 6, n)
        return pd.DataFrame({"a": a, "b": b, "t": (rng.random(n) < 0.2 + 0.5 * (a % 3 == 0)) + 0})

    synthetic, held = draw(150), {measure: [] for measure in MEASURES}
    for seed in range(200):
        rows = disclosure(draw(300), synthetic, draw(300), keys=KEYS, target="t", seed=seed).marginal
        for row in rows.itertuples():
            held[row.measure].append(row.low <= 0 <= row.high)
    shares = {measure: np.mean(found) for measure, found in held.items()}
    assert min(shares.values()) > 0.9, shares
    assert max(shares[measure] for measure in ("iS", "DiS", "DiSCO", "DCAP", "TCAP")) < 0.99, shares


def test_several_syntheses_and_their_mean():
    original, holdout = table("ppqrs" * 4, "xyxzz" * 4), table("pqrss" * 4, "xxzzz" * 4)
    several = [table("pqqrt", "xxxyz"), table("pqqrs", "xxxyz")]
    found = disclosure(original, several, holdout, keys=["a"], target="t")
    each = [disclosure(original, one, holdout, keys=["a"], target="t") for one in several]
    assert list(found.attribute["DiSCO"]) == [one.attribute["DiSCO"].item() for one in each]
    assert found.mean["DiSCO"] == found.attribute["DiSCO"].mean()
    means = found.marginal[found.marginal["synthesis"] == "mean"].set_index("measure")
    own = [one.marginal.set_index("measure") for one in each]
    for measure in MEASURES:
        assert means.loc[measure, "marginal"] == pytest.approx(np.mean([one.loc[measure, "marginal"] for one in own]))


def test_options_follow_the_keys_as_given_whatever_their_order():
    original = table("pq", "xy", b=[None, 1.0])
    straight = disclosure(original, original, keys=["a", "b"], target="t", use_keys_na=[True, False])
    turned = disclosure(original, original, keys=["b", "a"], target="t", use_keys_na=[False, True])
    pd.testing.assert_frame_equal(straight.exclusions, turned.exclusions)
    assert straight.exclusions["missing_keys"].iloc[0] == 1
    assert turned.keys == ("a", "b")


def test_grouping_keeps_values_apart_and_holdout_values_beyond_the_breaks_count():
    original = table("pqrs" * 5, "xy" * 10, b=[-8.0, *range(1, 20)])
    holdout = table("pqrs", "xyxy", b=[-8.0, -100.0, 500.0, math.nan])
    found = disclosure(original, original, holdout, keys=["b"], target="t", ngroups_keys=4, keep_values={"b": -8})
    assert len(found.check_2way.columns) == 8
    sizes = found.profiles.set_index(["table", "profile"]).loc[("original", "k-anonymity")]
    assert list(sizes) == [1, 0, 4, 15, 0]
    assert found.marginal.set_index("measure").loc["iS", "holdout"] == 0.75  # the missing value alone meets nobody


def test_a_continuous_key_is_allowed_and_flagged():
    original = table("pq" * 60, "xy" * 60, b=np.linspace(0, 1, 120))
    found = disclosure(original, original, keys=["b"], target="t")
    assert "--ngroups-keys (in Python ngroups_keys) groups it" in found.notes[0]
    assert not disclosure(original, original, keys=["b"], target="t", ngroups_keys={"b": 4}).notes
    assert not disclosure(original, original, keys=["a"], target="t").notes


def test_sides_of_unlike_size_are_told():
    notes = disclosure(table("pqr", "xyx"), table("pq", "xy"), table("pq", "xy"), keys=["a"], target="t").notes
    assert "original has 3 records, holdout 2" in notes[0]


def test_one_target_level_is_told():
    assert (
        "'x' in every original record"
        in disclosure(table("pq", "xx"), table("p", "x"), keys=["a"], target="t").notes[0]
    )


def test_an_unknown_level_in_an_exclusion_is_a_warning_that_names_it():
    original = table("pq", "xy")
    with pytest.warns(RiskWarning, match="not_target_levels: 't' has no level 'w'"):
        found = disclosure(original, original, keys=["a"], target="t", not_target_levels=["w"])
    assert "nothing is excluded" in found.notes[0]
    with pytest.warns(RiskWarning, match="exclude: 'a' has no level 'k'"):
        disclosure(original, original, keys=["a"], target="t", exclude=[("a", "k", "x")])


def test_numbers_and_text_are_one_level_only_if_a_codebook_says_so():
    original, synthetic = table([1, 2], "xy"), table(["1", "2"], "xy")
    with pytest.raises(
        RiskError, match="column 'a' holds numbers in original and text in synthetic: 1 and '1' are one level"
    ):
        disclosure(original, synthetic, keys=["a"], target="t")
    for kind in ({"kind": "categorical", "levels": ["1", "2"]}, {"kind": "integer", "min": 1, "max": 2}):
        codebook = codebook_from_dict({"variables": {"a": kind}})
        assert disclosure(original, synthetic, keys=["a"], target="t", codebook=codebook).attribute["DiSCO"].item() == 1
    assert disclosure(original, table([1.0, 2.0], "xy"), keys=["a"], target="t").attribute["DiSCO"].item() == 1
    empty = table(pd.Series(["", "NA"]), "xy")
    for nothing in (empty, table(pd.Categorical([None, None]), "xy"), table([None, None], "xy")):
        assert disclosure(original, nothing, keys=["a"], target="t").attribute["iS"].item() == 0


GOOD = table("pqpq", "xyxy", b=[1, 2, 3, 4])
SEVEN = GOOD.assign(b=7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": []}, r"keys \[\]: expected a list"),
        ({"keys": "a"}, "keys 'a': expected a list"),
        ({"keys": ["a", "a"]}, "repeated; name each key once"),
        ({"keys": ["wage"]}, r"original: no column 'wage'; known: \['a', 't', 'b'\]"),
        ({"synthetic": GOOD.drop(columns="a")}, "synthetic: no column 'a'"),
        ({"synthetic": [GOOD, GOOD.drop(columns="a")]}, "synthetic 2: no column 'a'"),
        ({"holdout": GOOD.drop(columns="t")}, "holdout: no column 't'"),
        ({"synthetic": []}, "no synthetic table"),
        ({"original": GOOD.to_numpy()}, "original: expected a pandas data frame, found ndarray"),
        ({"target": "a"}, "target 'a' is among the keys"),
        ({"original": GOOD.iloc[:0]}, "original: no records"),
        ({"synthetic": GOOD.iloc[:0]}, "synthetic: no records"),
        ({"original": GOOD.assign(t=None)}, "original: target 't' is missing in every record"),
        ({"synthetic": GOOD.assign(t=[None] * 4)}, "synthetic: target 't' is missing in every record"),
        ({"synthetic": GOOD.assign(b=["1", "2", "3", "4"]), "keys": ["b"]}, "'b' holds numbers in original and text"),
        ({"original": GOOD.assign(a=["1", 1, 2, 3])}, "original: column 'a' mixes numbers and text"),
        ({"original": GOOD.assign(a=["Missing", "q", None, "p"])}, "'a' has missing values and a level 'Missing'"),
        ({"thresh_1way": (50, 101)}, r"thresh_1way: \(50, 101\); the first is a count from 0"),
        ({"thresh_2way": (-1, 50)}, "thresh_2way"),
        ({"thresh_2way": (1,)}, "give two numbers"),
        ({"denom_lim": 0}, "denom_lim is 0; it is a number of records"),
        ({"denom_lim": "five"}, "denom_lim is 'five'; it is a number of records"),
        ({"ngroups_keys": "two"}, "ngroups_keys: 'two' groups for 'a'"),
        ({"thresh_1way": ("a", "b")}, "thresh_1way"),
        ({"thresh_2way": (math.nan, 5)}, "thresh_2way"),
        ({"use_keys_na": [True, False]}, "use_keys_na has 2 values and there are 1 keys"),
        ({"exclude": [("b", 1, "x")]}, r"exclude: 'b' is not among the keys \['a'\]"),
        ({"exclude": ["abc"]}, "'abc' is not"),
        ({"ngroups_target": 3}, "'t' cannot be grouped: it holds text, not numbers"),
        ({"ngroups_keys": {"b": 3}}, r"ngroups_keys: 'b' is not among \['a'\]"),
        ({"ngroups_keys": 1}, "ngroups_keys: 1 groups for 'a'; give a whole number from 2"),
        ({"keys": ["b"], "ngroups_keys": {"b": -2}}, "-2 groups for 'b'"),
        ({"keep_values": {"wage": 1}}, "keep_values: no variable 'wage'"),
        ({"keep_values": {"b": "one"}}, "keep_values: 'one' of 'b' is no number"),
        ({"original": SEVEN, "synthetic": SEVEN, "keys": ["b"], "ngroups_keys": 2}, "only the value 7 to group"),
    ],
)
def test_bad_input_is_told_in_one_line(arguments, message):
    given_ = {"original": GOOD, "synthetic": GOOD, "keys": ["a"], "target": "t"} | arguments
    with pytest.raises(RiskError, match=message) as error:
        disclosure(**given_)
    assert "\n" not in str(error.value)


def test_multi_takes_all_other_variables_and_gives_a_failed_one_its_reason():
    frame = GOOD.assign(empty=np.nan)
    found = multi_disclosure(frame, frame, keys=["a"]).table.set_index("target")
    assert list(found.index) == ["b", "t", "empty"]
    assert math.isnan(found.loc["empty", "synthetic"]) and "missing in every record" in found.loc["empty", "reason"]
    assert found.loc["t", "synthetic"] == found.loc["t", "original"] == 1


def test_multi_is_disclosure_for_each_target():
    other = GOOD.iloc[[0, 1, 1]].reset_index(drop=True)
    found = multi_disclosure(
        GOOD, [GOOD, other], other, keys=["a"], targets=["t", "b"], ngroups_target={"b": 2}, measure="TCAP"
    )
    for target, groups in (("t", None), ("b", 2)):
        single = disclosure(GOOD, [GOOD, other], other, keys=["a"], target=target, ngroups_target=groups)
        pd.testing.assert_frame_equal(found.results[target].marginal, single.marginal)
        row = found.table.set_index("target").loc[target]
        assert row["synthetic"] == single.mean["TCAP"] and row["original"] == single.mean["CAPd"]
        assert row["repU"] == single.mean["repU"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": "UiO"}, "measure 'UiO'; known"),
        ({"targets": "t"}, "expected a list of names"),
        ({"targets": ["t", "t"]}, "each once"),
        ({"targets": ["a"]}, "target 'a' is among the keys"),
        ({"targets": ["wage"]}, "no column 'wage'"),
        ({"ngroups_target": {"a": 2}}, "ngroups_target: 'a' is not among"),
        ({"not_target_levels": {"wage": ["x"]}}, "not_target_levels: no variable 'wage'"),
    ],
)
def test_bad_input_of_multi_is_told_in_one_line(arguments, message):
    with pytest.raises(RiskError, match=message):
        multi_disclosure(GOOD, GOOD, keys=["a"], **arguments)
