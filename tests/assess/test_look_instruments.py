"""What the direct look finds of regressions with instrumental variables, on records made to show it."""

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.config import OutputEntry
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import InstrumentalEntry

WHOLE = ["coefficients", "standard_errors", "n", "residual_sd"]


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    hidden, far = rng.normal(size=n), rng.integers(0, 8, n)
    school = np.round(12 - 0.4 * far + hidden + rng.normal(size=n)).astype(int)
    wage = np.round(5 + 1.1 * school + 2 * hidden + rng.normal(size=n)).astype(int)
    region = rng.choice(["n", "s"], n)
    return pd.DataFrame({"wage": wage, "school": school, "far": far, "near": (far < 4) * 1, "region": region})


def output_of(frame, **entry):
    codebook = infer_codebook(frame)[0]
    given = {"formula": "wage ~ school", "endogenous": "school", "instruments": "far", "release": WHOLE}
    (output,) = InstrumentalEntry(**({"kind": "iv"} | given | entry)).build(codebook, 1)
    return output, from_frame(frame, codebook)


def found(frame, **entry):
    output, data = output_of(frame, **entry)
    return {each.rule: each for each in look([output], data, Appetite())}


def test_many_people_and_no_column_of_few_show_nothing():
    assert found(people()) == {}
    assert found(people(), formula="wage ~ school + region", instruments="far + near") == {}


def test_few_residual_degrees_of_freedom_are_those_of_the_first_stage():
    said = found(people(12), formula="wage ~ school + region", instruments="far + near")
    assert "8 residual degrees of freedom" in said["degrees of freedom"].what


@pytest.mark.parametrize(("term", "instrument"), [("region", "far"), ("1", "far + region")])
def test_columns_of_few_people_are_counted_in_formula_and_instruments(term, instrument):
    frame = people()
    frame.loc[:4, "region"] = "w"
    said = found(frame, formula=f"wage ~ school + {term}", instruments=instrument)
    assert said["few people behind a coefficient"].people == 5
    assert ("(instrument)" in said["few people behind a coefficient"].places) == (term == "1")


def alone(term):
    """One person is alone in the west, whose dummy is exogenous, or an instrument."""
    frame = people()
    frame.loc[7, ["region", "wage"]] = ["w", 31]
    return frame, {
        "exogenous": {"formula": "wage ~ school + region"},
        "instrument of two": {"instruments": "far + region"},
        "the instrument": {"formula": "wage ~ school + region", "instruments": "far"},
    }[term]


def test_who_is_alone_in_an_exogenous_column_is_told():
    frame, how = alone("exogenous")
    said = found(frame, **how)["same answer"]
    assert said.certain and said.people == 1 and said.about == "wage" and list(said.who) == [7]
    output, data = output_of(frame, **how)
    for value in sorted(set(frame["wage"]))[:5]:  # whatever they earn, that is their fitted value
        changed = from_frame(frame.assign(wage=frame["wage"].where(frame.index != 7, value)), data.codebook)
        b = dict(zip(output.labels, output.refit(changed), strict=True))
        fitted = b["Intercept"] + b["school"] * frame["school"][7] + b["region[T.w]"]
        assert fitted == pytest.approx(value, abs=1e-8)


def test_a_column_alone_among_more_instruments_than_needed_is_not_told():
    frame, how = alone("instrument of two")
    said = found(frame, **how)
    assert not any(each.certain for each in said.values()) and said["leverage"].people == 1
    output, data = output_of(frame, **how)
    b = dict(zip(output.labels, output.refit(data), strict=True))
    assert abs(b["Intercept"] + b["school"] * frame["school"][7] - 31) > 1.0


def test_an_instrument_of_one_person_tells_them_where_it_is_the_only_one():
    frame = people()
    frame["far"] = (frame.index == 7).astype(int)
    frame.loc[7, ["school", "wage"]] = [20, 31]
    said = found(frame)
    assert said["same answer"].certain and list(said["same answer"].who) == [7]
    output, data = output_of(frame)
    b = dict(zip(output.labels, output.refit(data), strict=True))
    assert b["Intercept"] + b["school"] * 20 == pytest.approx(31)


def test_coefficients_that_are_not_printed_tell_nobody():
    frame, how = alone("exogenous")
    said = found(frame, **how, keep="school")
    assert not any(each.certain for each in said.values())


def test_one_binary_instrument_is_a_ratio_of_differences_of_means():
    frame = people()
    said = found(frame, instruments="near")
    assert "Wald's estimator" in said["saturated model"].what
    output, data = output_of(frame, instruments="near")
    b = dict(zip(output.labels, output.refit(data), strict=True))
    means = frame.groupby("near")[["wage", "school"]].mean().diff().iloc[-1]
    assert b["school"] == pytest.approx(means["wage"] / means["school"])


def test_a_fit_that_leaves_nothing_tells_everybody():
    frame = people()
    frame["wage"] = 3 + 2 * frame["school"]
    said = found(frame)["exact fit"]
    assert said.certain and said.people == 400 and said.about == "wage"
    assert not found(frame, release=["coefficients"])["exact fit"].certain  # other data may have these, rounded
    assert not found(frame, decimals={"residual_sd": 0})["exact fit"].certain


def test_n_counts_beside_other_outputs():
    frame = people()
    frame["ill"] = np.where(frame.index < 3, "yes", "no")
    codebook = infer_codebook(frame)[0]
    text = [
        {"kind": "iv", "formula": "wage ~ school", "endogenous": "school", "instruments": "far",
         "release": ["coefficients", "n"], "where": "ill == 'no'"},
        {"kind": "frequencies", "by": ["region"]},
    ]  # fmt: skip
    entry = TypeAdapter(OutputEntry)
    outputs = [each for at, one in enumerate(text, 1) for each in entry.validate_python(one).build(codebook, at)]
    said = look(outputs, from_frame(frame, codebook), Appetite())
    assert any(each.people == 3 for each in said)
