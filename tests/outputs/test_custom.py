import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import NO_INFORMATION, numbers_of, totals_of

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.smooth.custom import Custom, CustomEntry

CODEBOOK = Codebook(
    (
        Variable("y", "integer", (0, 1)),
        Variable("x", "integer", tuple(range(-3, 4))),
        Variable("g", "categorical", ("a", "b"), missing=True),
    )
)


def moments(frame):
    """Smooth, cheap, and defined by hand: mean of y, and the regression slope of y on x."""
    x, y = frame["x"].to_numpy(float), frame["y"].to_numpy(float)
    return [y.mean(), np.cov(x, y)[0, 1] / x.var(ddof=1)]


def ridge(frame):
    design = np.column_stack([np.ones(len(frame)), frame["x"]])
    return sm.GLM(frame["y"], design, family=sm.families.Binomial()).fit_regularized(alpha=0.01, L1_wt=0).params


def custom(call=moments, where="", places=(4, 4)):
    return Custom(CODEBOOK, "c", "here:call", call, ("y", "x", "g"), ("first", "second"), places, where)


def sample(seed, n=400):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 7, n)
    y = rng.random(n) < 1 / (1 + np.exp(-0.6 * (x - 3)))
    return Microdata(CODEBOOK, np.stack([y, x, rng.integers(0, 3, n)], axis=1).astype(np.uint16))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["", "g == 'a'", "x > -2"]))
def test_totals_give_the_numbers_of_the_records(seed, where):
    data = sample(seed, 60)
    output = custom(where=where)
    np.testing.assert_allclose(numbers_of(output, data), output.refit(data), rtol=1e-12)


def test_slopes_are_differences_of_refits_around_the_published_numbers():
    data = sample(1)
    output = custom()
    (part,) = output.parts(output.refit(data))
    totals = totals_of(part, data)
    slopes = part.map.jacobian(totals, NO_INFORMATION)
    at = part.map._reproducing(len(data))
    np.testing.assert_allclose(part.map.numbers(at, NO_INFORMATION), output.refit(data), atol=10 * 0.5e-4)
    unit = np.eye(len(totals))[:, 5]
    expected = part.map.numbers(at + unit, NO_INFORMATION) - part.map.numbers(at, NO_INFORMATION)
    np.testing.assert_allclose(slopes[:, 5], expected, atol=2e-5)


@pytest.mark.parametrize("call", [moments, ridge])
def test_slopes_around_other_data_serve_these(call):
    data = sample(2)
    output = custom(call)
    (part,) = output.parts(output.refit(data))
    totals = totals_of(part, data)
    here = part.map._around(totals)
    away = part.map.jacobian(totals, NO_INFORMATION) - here
    assert (np.linalg.norm(away, axis=1) < 0.25 * np.linalg.norm(here, axis=1)).all()


def test_what_is_asked_before_makes_no_difference():
    data = sample(3)
    output = custom(where="x > -2")
    maps = [output.parts(output.refit(data))[0].map for _ in range(2)]
    totals = totals_of(output.parts(output.refit(data))[0], data)
    maps[0].jacobian(np.ones(len(totals)), NO_INFORMATION)
    maps[0].numbers(totals + 1, NO_INFORMATION)
    assert (maps[0].jacobian(totals, NO_INFORMATION) == maps[1].jacobian(totals, NO_INFORMATION)).all()
    precision = maps[0].precision(totals, NO_INFORMATION)
    assert (np.linalg.eigvalsh(precision) > 0).all()


def test_the_precision_is_that_of_repeated_samples():
    output = custom(places=(6, 6))
    refits = np.array([output.refit(sample(seed)) for seed in range(200)])
    (part,) = output.parts(refits.mean(axis=0))
    covariance = np.linalg.inv(part.map.precision(totals_of(part, sample(1)), NO_INFORMATION))
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), refits.std(axis=0), rtol=0.5)


def test_effort_is_counted_and_answers_are_kept():
    output = custom()
    (part,) = output.parts(np.array([0.5, 0.1]))
    totals = np.full(42, 3.0)
    for _ in range(3):
        part.map.numbers(totals, NO_INFORMATION)
    assert output.effort["refits"] == 1
    assert output.spent.seconds > 0


@pytest.mark.parametrize("totals", [np.zeros(42), -np.ones(42), np.eye(42)[3]])
def test_odd_totals_and_failing_functions_give_nan_and_finite_slopes(totals):
    def fails(frame):
        raise ValueError("no fit")

    for call in (moments, fails):
        (part,) = custom(call).parts(np.array([0.5, 0.1]))
        with np.errstate(all="ignore"):
            numbers = part.map.numbers(totals, NO_INFORMATION)
            assert np.isnan(numbers[1])
            assert np.isfinite(part.map.jacobian(totals, NO_INFORMATION)).all()
            assert np.isfinite(part.map.precision(totals, NO_INFORMATION)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda frame: 1 / 0, "here:call fails: division by zero"),
        (lambda frame: [1.0, 2.0, 3.0], r"numbers of shape \(3,\) for 2 labels"),
        (lambda frame: frame["age"], "here:call fails: 'age'"),
    ],
)
def test_functions_that_do_not_do(call, message):
    with pytest.raises(OutputError, match=message) as caught:
        custom(call).refit(sample(1, 9))
    assert "\n" not in str(caught.value)


def entry(folder, **changes):
    document = {"kind": "custom", "function": "f.py:both", "variables": ["y", "x"], "labels": ["a", "b"]} | changes
    return CustomEntry.model_validate(document, context={"folder": folder})


def test_a_function_from_a_file_beside_the_study(tmp_path):
    (tmp_path / "f.py").write_text("def both(frame):\n    return [frame['y'].mean(), float(len(frame))]\n")
    (output,) = entry(tmp_path, decimals=[2, 0]).build(CODEBOOK, 1)
    assert output.refit(sample(1, 10))[1] == 10
    assert output.decimals.tolist() == [2, 0]
    assert "slow" in output.notes
    assert str(tmp_path) not in str(entry(tmp_path).model_dump())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"function": "both"}, "write path/to/file.py:name, or module:name"),
        ({"function": "g.py:both"}, "no such file"),
        ({"function": "f.py:neither"}, "has no function 'neither'"),
        ({"function": "bad.py:both"}, "cannot be read"),
        ({"function": "no.such.module:f"}, "cannot be read: No module named"),
        ({"variables": ["z"]}, "no variable 'z'"),
        ({"variables": []}, r"variables: \[\] must name one or more"),
        ({"labels": ["a", "a"]}, "labels: .* must name one or more different ones"),
        ({"decimals": [1]}, "1 decimals for 2 labels"),
        ({"where": "y > 1"}, "holds for no value"),
    ],
)
def test_entries_that_cannot_be_used(tmp_path, changes, message):
    (tmp_path / "f.py").write_text("def both(frame):\n    return [1.0, 2.0]\n")
    (tmp_path / "bad.py").write_text("def both(:\n")
    with pytest.raises(OutputError, match=message) as caught:
        entry(tmp_path, **changes).build(CODEBOOK, 1)
    assert "\n" not in str(caught.value)


def test_too_many_cells():
    codebook = Codebook(tuple(Variable(name, "integer", tuple(range(50))) for name in "ab"))
    with pytest.raises(OutputError, match="multiply to 2,500 cells; at most 2,000"):
        Custom(codebook, "c", "f", moments, ("a", "b"), ("n",), (0,))
