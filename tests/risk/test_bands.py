"""A target that is an amount is measured in bands."""

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.codebook import Codebook, Variable
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata
from outrisk.risk.by_person.crossed import Pairing, contrasts
from outrisk.risk.by_person.record_scores import ESTIMATES
from outrisk.risk.coding.bands import bands_of, in_words

WITHIN = 0.1


def amounts(values, missing=False):
    return Codebook((Variable("area", "categorical", ("a", "b")), Variable("wage", "numeric", tuple(values), missing)))


@pytest.mark.parametrize("within", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("values", [range(-300, 5000, 10), range(0, 70_000, 7), np.geomspace(1e-6, 1e6, 400)])
def test_every_value_is_near_the_middle_of_its_band_and_bands_are_as_wide_as_they_may_be(within, values):
    numbers = np.array(tuple(float(value) for value in values))
    found = bands_of(amounts(numbers), "wage", within)
    ratio = (1 + within) / (1 - within)
    for band in range(found.code.max() + 1):
        inside = numbers[found.code == band]
        if 0 in inside:
            assert inside.tolist() == [0]
            continue
        assert len(set(np.sign(inside))) == 1
        lowest, highest = sorted(abs(inside[[0, -1]]))
        assert highest / lowest < ratio * (1 + 1e-9)
        k = np.floor(np.log(lowest) / np.log(ratio) + 1e-9)
        middle = ratio**k / (1 - within)
        assert (abs(abs(inside) / middle - 1) <= within + 1e-9).all()
        assert found.variable.values[band] in inside
    assert (np.diff(found.code) >= 0).all() and set(np.diff(found.code)) <= {0, 1}


def test_which_targets_are_in_bands():
    few, many = amounts(range(100)), amounts(range(1, 102))
    assert bands_of(few, "wage", None) is None and bands_of(many, "wage", 0) is None
    assert bands_of(many, "area", 0.1) is None and bands_of(many, "none", None) is None
    assert bands_of(many, "wage", None).within == WITHIN == bands_of(few, "wage", 0.1).within
    assert in_words("wage", None) == "wage" and in_words("wage", bands_of(few, "wage", 0.05)) == "wage to within 5 %"


def test_records_labels_and_chances_are_put_together_and_a_missing_value_stays_alone():
    book = amounts((0, 80, 90, 95, 100, 105), missing=True)
    found = bands_of(book, "wage", WITHIN)  # ends at 67.6, 82.6, 101.0, 123.4
    assert found.code.tolist() == [0, 1, 2, 2, 2, 3, 4]
    assert found.labels == ("0", "80", "90 to 100", "105", "Missing")
    data = Microdata(book, np.array([[0, 1], [1, 4], [0, 6]], dtype=np.uint16))
    assert found.of(data).codes.tolist() == [[0, 1], [1, 2], [0, 4]] and data.codes[1, 1] == 4
    assert found.of(data).codebook.names == book.names and found.of(data).codebook["wage"].size == 5
    assert np.isnan(found.of(data).frame()["wage"].iloc[2])
    chances = np.array([[0.1, 0.2, 0.3, 0.1, 0.1, 0.15, 0.05]])
    assert found.sums(chances) == pytest.approx(np.array([[0.1, 0.2, 0.5, 0.15, 0.05]]))


def people(n=300, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"area": rng.choice(list("abcde"), n), "age": rng.integers(20, 60, n) // 10 * 10})
    wage = np.exp(7 + 0.4 * (frame["area"] == "a") + 0.01 * frame["age"] + rng.normal(0, 0.2, n))
    frame["wage"] = (wage / 10).round().astype(int) * 10
    book = Codebook(
        (
            Variable("area", "categorical", tuple("abcde")),
            Variable("age", "integer", (20, 30, 40, 50)),
            Variable("wage", "integer", tuple(range(0, 6000, 10))),
        )
    )
    return frame, book


def banded(wage):
    """By another formula than that of the package: where each value falls among the powers."""
    ends = (1.1 / 0.9) ** np.arange(-5, 60)
    return np.digitize(wage, ends)


def means_by(*by):
    return {"kind": "magnitudes", "value": "wage", "by": list(by), "statistics": ["count", "mean"], "decimals": 0}


def assessed(frame, book, **more):
    means = means_by("area", "age")
    return outrisk.assess(
        frame, [means], keys=["area", "age"], target="wage", codebook=book, runs=1, key_sizes=[1, 2], quiet=True, **more
    )


@pytest.fixture(scope="module")
def study():
    frame, book = people()
    return frame, assessed(frame, book)


def dcap(original, made):
    """Chance that a synthetic record with a person's keys has their value, on average, by pandas alone."""
    shares = made.groupby(["area", "age"], observed=True)["wage"].value_counts(normalize=True).rename("share")
    return original.merge(shares.reset_index(), on=["area", "age", "wage"], how="left")["share"].fillna(0).mean()


def of_the_whole(found, measure, keys="area+age"):
    rows = found.key_sets
    here = (rows["level"] == 1) & (rows["measure"] == measure) & (rows["keys"] == keys) & (rows["side"] == "original")
    return float(rows.loc[here, "value"].iloc[0])


def test_measures_are_those_of_data_banded_by_hand(study):
    frame, found = study
    made = found.synthetic(level=1).astype({"area": str})
    original, by_hand = (each.assign(wage=banded(each["wage"])) for each in (frame, made))
    assert of_the_whole(found, "dcap") == pytest.approx(dcap(original, by_hand), abs=1e-12)
    assert of_the_whole(found, "dcap") > 3 * dcap(frame, made)
    assert set(found.synthetic(level=1)["wage"]) - set(found.codebook["wage"].values) == set()
    assert len(set(found.synthetic(level=1)["wage"])) > 30  # the data themselves are in no bands


def test_words_say_how_near(study, tmp_path):
    _, found = study
    assert found.decision.target == "wage to within 10 %" and found.study["target"] == "wage"
    page = found.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "to want to learn wage to within 10 %" in " ".join(page.split())
    groups = set(found.people["group"])
    assert any(group.startswith("wage = ") and " to " in group for group in groups)


def test_within_0_is_value_by_value():
    frame, book = people(120)
    found = assessed(frame, book, target_within=0, intruder=["codebook"], folds=[1])
    made = found.synthetic(level=1).astype({"area": str})
    assert of_the_whole(found, "dcap") == pytest.approx(dcap(frame, made), abs=1e-12)
    assert found.decision.target == "wage"


@pytest.mark.parametrize("within", [1, -0.1, "near"])
def test_a_share_that_cannot_be_is_told(within):
    frame, book = people(60)
    with pytest.raises(ConfigError, match="target_within"):
        assessed(frame, book, target_within=within)


def test_what_a_mean_of_one_person_tells_is_proved_and_followed():
    frame, book = people(40)
    frame.loc[0, ["area", "age"]] = ["e", 50]
    frame = frame[(frame["area"] != "e") | (frame.index == 0)].reset_index(drop=True)
    means = means_by("area")
    asked = {"keys": ["area", "age"], "target": "wage", "codebook": book}
    proof = outrisk.prove(frame, [means], **asked)
    assert proof.certain["record"].tolist() == [0]
    low, high = (int(each) for each in proof.certain["value"].iloc[0].split(" to "))
    assert low <= frame.loc[0, "wage"] <= high and high / low < 1.1 / 0.9 and "wage to within 10 %" in proof.sentence
    exact = outrisk.prove(frame, [means], **asked, target_within=0)
    assert exact.certain["value"].tolist() == [str(frame.loc[0, "wage"])]
    followed = outrisk.follow(frame, [means], **asked, runs=5)
    assert followed.tried >= 1 and followed.followed >= 1 and "wage to within 10 %" in followed.sentence


# ---------------------------------------------------------------- estimates by means and medians


def by_hand(people, synthetic, keys, middle, within):
    """Mean score of people by what synthetic records with their keys have in the middle, by pandas alone."""
    of_class = getattr(synthetic.groupby(keys)["wage"], middle)().rename("guess").reset_index()
    guess = people.merge(of_class, on=keys, how="left")["guess"]
    near = (guess - people["wage"]).abs() <= within * people["wage"].abs()
    near_all = (getattr(synthetic["wage"], middle)() - people["wage"]).abs() <= within * people["wage"].abs()
    return np.where(guess.isna(), 0, near.astype(float) - near_all).mean()


@pytest.mark.parametrize("crossed", [True, False])
@pytest.mark.parametrize("missing", [True, False])
def test_estimates_are_those_by_hand(crossed, missing):
    values = tuple(range(-100, 2_000, 10))
    book = Codebook(
        (
            Variable("area", "integer", tuple(range(6))),
            Variable("age", "integer", tuple(range(5))),
            Variable("wage", "integer", values, missing),
        )
    )
    rng = np.random.default_rng(3)

    def some(n):
        level = rng.integers(0, 6, n)
        wage = np.clip(level * 25 + rng.integers(0, 60, n), 0, len(values) - 1)
        if missing:
            wage[rng.random(n) < 0.1] = len(values)
        return Microdata(book, np.stack([level, rng.integers(0, 5, n), wage], axis=1).astype(np.uint16))

    inside, outside, runs = some(120), some(90), [some(60) for _ in range(4)]
    theirs = runs[2:] if crossed else []
    bands = bands_of(book, "wage", WITHIN)
    pairing = Pairing(inside, outside, runs[:2] if crossed else runs, theirs, bands)
    sets = [("area",), ("area", "age")]
    found = contrasts(pairing, sets, "wage", permutations=19)
    assert found.measures == pairing.measures and found.measures[-2:] == ESTIMATES
    for m, middle in ((-2, "mean"), (-1, "median")):
        for k, keys in enumerate(sets):
            scores = {
                (side, whose): np.mean(
                    [by_hand(who.frame(), run.frame(), list(keys), middle, WITHIN) for run in releases]
                )
                for side, who in (("inside", inside), ("outside", outside))
                for whose, releases in (("inside", pairing.of_original), ("outside", theirs))
                if releases
            }
            own, other = scores["inside", "inside"], scores["outside", "inside"]
            if crossed:
                own = (own + scores["outside", "outside"]) / 2
                other = (other + scores["inside", "outside"]) / 2
            assert found.own[m, k] == pytest.approx(own, abs=1e-6)
            assert found.other[m, k] == pytest.approx(other, abs=1e-6)
    exact = [each for each in found.measures if each not in ESTIMATES]
    own, other = ([bands.of(run) for run in part] for part in (pairing.of_original, theirs))
    same = contrasts(Pairing(bands.of(inside), bands.of(outside), own, other), sets, "wage", permutations=19)
    assert same.measures == tuple(exact)
    assert found.own[: len(exact)] == pytest.approx(same.own, abs=1e-6)
    assert found.standard_error[: len(exact)] == pytest.approx(same.standard_error, abs=1e-6)


def test_means_of_few_are_told_by_their_estimates_where_no_record_repeats_a_value():
    frame, book = people(240)
    frame["area"] = np.random.default_rng(5).permutation(np.repeat(list("abcde"), 48))
    frame["job"] = np.arange(240) % 16
    book = Codebook((*book.variables, Variable("job", "integer", tuple(range(16)))))
    means = means_by("area", "job")
    found = outrisk.assess(
        frame, [means], keys=["area", "job"], target="wage", codebook=book, runs=3, folds=[2], key_sizes=[2], quiet=True
    )
    rows = found.tables["marginal"]
    here = rows[(rows["keys"] == "area+job") & (rows["about"] == "")].set_index("measure")
    assert here.loc["estimate_mean", "difference"] > 0.1 > 0.05 > here.loc["existence", "difference"]
    assert here.loc["estimate_mean", "low"] > 0
    assert set(ESTIMATES) <= set(found.decision.held_against.measures)
    assert {limit.measure for limit in found.decision.limits} >= set(ESTIMATES)
    guessed = found.register[(found.register["people"] == "all") & (found.register["measure"] == "right")]
    assert guessed["difference"].iloc[-1] > 0.1


def test_measures_of_other_data_say_that_only_the_very_value_counts():
    frame, _ = people(200)
    frame["wage"] = frame["wage"] + np.arange(200)
    found = outrisk.measure(
        frame, frame.sample(frac=1, random_state=1), keys=["area", "age"], target="wage", quiet=True
    )
    assert f"wage has {frame['wage'].nunique()} different values" in " ".join(found.sentences)
    few = frame.assign(wage=frame["wage"] // 500)
    found = outrisk.measure(few, few.sample(frac=1, random_state=1), keys=["area", "age"], target="wage", quiet=True)
    assert "different values" not in " ".join(found.sentences)


def test_a_starter_study_says_how_near_an_amount_counts():
    frame, _ = people(300)
    started = outrisk.init(frame.assign(wage=frame["wage"] + np.arange(300)), keys=["area", "age"], target="wage")
    assert "target_within: 0.1 " in started.study_text()
    of_few = outrisk.init(frame, keys=["age"], target="area")
    assert "target_within" not in of_few.study_text()
