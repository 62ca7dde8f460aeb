"""Fitted models of statsmodels as entries of a study: what the fit says of itself, and that it is of these records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.grammar import named_in
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array
from outrisk.outputs.regression.design import quoted
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import INFERENCE
from outrisk.readers.fitted_shape import estimates_of, is_ordered, kind_of_shape
from outrisk.readers.statsmodels_summary import covariance_of

_MODELS = {"Logit": "logit", "Probit": "probit", "Poisson": "poisson", "OLS": "ols", "WLS": "ols", "MNLogit": "mnlogit"}
_FAMILIES = {
    ("Binomial", "Logit"): "logit",
    ("Binomial", "Probit"): "probit",
    ("Poisson", "Log"): "poisson",
    ("Gaussian", "Identity"): "ols",
}
CLOSE = 0.1  # of a last printed digit: a fit that is further from the maximum would print other numbers now and then


def is_fit(source: object) -> bool:
    """Whether an object is a fitted model of statsmodels."""
    return hasattr(source, "model") and hasattr(source, "params")


def read_fit(fit: Any, records: pd.DataFrame, given: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The entry of a regression that a fit's formula, or the columns of its arrays, come down to.

    `records` are those that it was fitted on, after `where`. OutputError where the model is of a kind, or has a weight,
    an offset or a column, that cannot be told from the records.
    """
    model = fit.model
    entry: dict[str, Any] = {"kind": _kind(model, place)}
    offset = _numbers(model, "offset") + _numbers(model, "exposure")
    weights = np.ones(1)
    glm = type(model).__name__ == "GLM"  # whose `weights` are those of its last iteration
    for name in ("freq_weights", "var_weights") if glm else ("weights",):
        weights = weights * _numbers(model, name, otherwise=1.0)
    weighted = not np.all(weights == 1.0)
    inference = set(INFERENCE) & set(given.get("release", ()))
    errors = _errors_of(fit, entry["kind"], place) if inference else {}
    if getattr(model, "formula", None) is None or offset.any() or weighted or "cluster" in errors:
        records = fitted_on(model, records, str(given.get("where", "")), place)
    entry["formula"] = formula_of_fit(model, records, place)
    if offset.any():
        entry["offset"] = _expression(offset, records, f"{place}: the offset of the fit is")
    if weighted:
        column = column_of(weights, "", records)
        if column is None:
            raise OutputError(f"{place}: the weights of the fit are no column of the data; add them as one")
        entry["weight"] = column
    if "cluster" in errors and "cluster" not in given:
        errors["cluster"] = _cluster_of(errors["cluster"], records, place)
    return entry | errors | dict(given)


def _errors_of(fit: Any, kind: str, place: str) -> dict[str, Any]:
    """How the standard errors of a fit were computed, as an entry says it; of clusters, the cluster of each record."""
    said, keywords = str(getattr(fit, "cov_type", "nonrobust")), getattr(fit, "cov_kwds", None) or {}
    found: dict[str, Any] = {}
    if said.casefold() != "nonrobust":
        covariance = covariance_of(said, type(fit.model).__name__ in ("OLS", "WLS"))
        if not covariance:
            raise OutputError(
                f"{place}: standard errors of the type {said} are not known; known are nonrobust, HC0, HC1, cluster; "
                "fit it with one of them, or release its coefficients alone"
            )
        found["covariance"] = covariance
        if said == "cluster":
            found["cluster"] = np.asarray(keywords["groups"])
            found["covariance"] = "CR1S" if keywords.get("use_correction", True) else "CR0"
    by_t = bool(getattr(fit, "use_t", kind == "ols"))
    if by_t != (kind == "ols"):
        found["distribution"] = "t" if by_t else "normal"
    return found


def _cluster_of(groups: NDArray[Any], records: pd.DataFrame, place: str) -> str:
    """The column of the records that tells the same groups apart."""
    codes = pd.factorize(groups.ravel())[0]
    for column in records.columns:
        if len(codes) == len(records) and np.array_equal(pd.factorize(records[column])[0], codes):
            return str(column)
    raise OutputError(f"{place}: the clusters of the fit are no column of the data; add them as one")


def fitted_on(model: Any, records: pd.DataFrame, where: str, place: str) -> pd.DataFrame:
    """The records that a model was fitted on: those without a missing value in its columns. OutputError for others.

    A model knows the rows that statsmodels dropped itself; not those that were dropped before.
    """
    n, dropped, labels = len(model.endog), getattr(model.data, "missing_row_idx", None), model.data.row_labels
    if dropped is not None and n + len(dropped) == len(records):
        return records.iloc[np.setdiff1d(np.arange(len(records)), dropped)]
    names = [model.endog_names, *model.exog_names] if getattr(model, "formula", None) is None else [model.formula]
    complete = records.dropna(subset=named_in(" ".join(map(str, names)), map(str, records.columns)))
    for found in (records, complete, records.dropna()):
        if len(found) == n:
            return found
    if labels is not None and records.index.is_unique and labels.isin(records.index).all():
        return records.iloc[records.index.get_indexer(labels)]
    raise OutputError(
        f"{place}: the fit is of {n:,} records, the data give {len(complete):,} without missing values in its columns; "
        f"{_advice(where)}"
    )


def check_fit(fit: Any, output: Regression, data: Microdata, place: str) -> None:
    """OutputError unless a fit is of these records, and its numbers those that a refit on them prints."""
    model = fit.model
    sample, frame = output.sample(data)
    response = np.asarray(model.endog, dtype=float)
    n = len(sample.response)
    if len(response) != n:
        raise OutputError(
            f"{place}: the fit is of {len(response):,} records, the data give {n:,}; {_advice(output.where)}"
        )
    if is_ordered(model) and not np.array_equal(response, sample.response):
        raise OutputError(
            f"{place}: the fit has the outcomes in the order {', '.join(map(format_value, model.labels))}, the data "
            f"{', '.join(output.outcomes)}, or other records; make the column a pandas Categorical of the outcomes "
            f"that occur, in their order; {_advice(output.where)}"
        )
    if response.ndim > 1 or not np.array_equal(response, sample.response):
        left = output.formula.split("~")[0].strip()
        name = left.strip("`")
        if name in frame and np.array_equal(response, 1.0 - sample.response):  # as GLM has it of False and True
            level = format_value(frame[name].to_numpy()[response == 1.0][0])
            raise OutputError(
                f"{place}: the fit has the other level of {name!r}, {level}, as its event; if that is meant say so: "
                f"Fitted(fit, event={level!r})"
            )
        raise OutputError(
            f"{place}: the response of the fit is not {left!r} of the data, record by record; {_advice(output.where)}"
        )
    places = _columns(np.asarray(model.exog, dtype=float), sample.design, list(model.exog_names), output, place)
    _check_numbers(fit, output, data, places, place)


def _check_numbers(fit: Any, output: Regression, data: Microdata, places: list[int], place: str) -> None:
    """The coefficients, and standard errors and p-values where they are released, to a fraction of their last printed
    digit.
    """
    K = len(output.coefficients)
    refit, decimals, layout = output.refit(data), output.decimals, dict(output.release.layout(K))
    found = estimates_of(fit)
    places = [*places, *range(len(places), K)] if output.release.plain else places
    for part, at in layout.items():
        if part not in found:
            continue
        numbers = np.asarray(found[part], dtype=float)
        numbers = (numbers[places, :] if numbers.ndim > 1 else numbers[places]).ravel(order="F")
        if part == "coefficients":
            numbers = output.release.shown(numbers)
        near = np.abs(numbers - refit[at]) <= CLOSE * 10.0 ** -decimals[at].astype(float)
        far = ~(near | (np.isnan(numbers) & np.isnan(refit[at])))
        if far.any():
            first = int(np.argmax(far))
            digits = decimals[at][first] + 2
            how = " (method='bfgs', gtol=1e-8)" if is_ordered(fit.model) else ""
            raise OutputError(
                f"{place}: {output.labels[at.start + first]} is {numbers[first]:.{digits}f} in the fit and "
                f"{refit[at][first]:.{digits}f} by a refit on the data; fit it again until it converges{how}, without "
                "penalties, and with standard errors as the output says: the default ones, or its covariance"
            )


def _advice(where: str) -> str:
    if where:
        return f"look at where: {where!r}"
    return "give the data that it was fitted on, or say which part: Fitted(fit, where=...)"


def _kind(model: Any, place: str) -> str:
    name = type(model).__name__
    if name == "GLM":
        family, link = type(model.family).__name__, type(model.family.link).__name__
        if (family, link) in _FAMILIES:
            return _FAMILIES[family, link]
        known = ", ".join(f"{family} with {link}" for family, link in _FAMILIES)
        raise OutputError(f"{place}: GLM of the family {family} with link {link} is not known; known are {known}")
    kind = kind_of_shape(model, place) or _MODELS.get(name, "")
    if kind:
        return kind
    raise OutputError(
        f"{place}: a fitted {name} is not known; known are {', '.join(_MODELS)}, OrderedModel, NegativeBinomial, "
        "GLM and PHReg; another one goes through outrisk.Custom with a function that fits it"
    )


def formula_of_fit(model: Any, records: pd.DataFrame, place: str) -> str:
    """The formula that a model was given, as formulaic reads it; of arrays, one whose design has their columns."""
    formula = getattr(model, "formula", None)
    if formula is None:
        return _formula_of_arrays(model, records, place)
    if is_ordered(model):  # which has no constant, whatever its formula says
        formula = re.sub(r"~\s*[01]\s*\+|[-+]\s*1\s*$", lambda sign: "~" * sign[0].startswith("~"), str(formula))
    text = re.sub(r"\bTreatment\(\s*(?:reference\s*=\s*)?([^()]*)\)", r"contr.treatment(base=\1)", str(formula))
    return re.sub(r"""\bQ\(\s*["']([^"']+)["']\s*\)""", r"`\1`", text)


def _formula_of_arrays(model: Any, records: pd.DataFrame, place: str) -> str:
    """A formula whose design has the columns of the model's matrix: constants, columns of the records, dummies."""
    endog, name = np.asarray(model.endog, dtype=float), str(model.endog_names)
    if type(model).__name__ in ("MNLogit", "OrderedModel"):
        response = _outcomes_of(endog, name, records)
    else:
        response = column_of(endog, name, records)
    if response is None:
        raise OutputError(
            f"{place}: the response of the fit is no column of the data, record by record; {_advice('')}; or fit it by "
            "a formula"
        )
    terms, dummies = ["1" if type(model).__name__ in ("PHReg", "OrderedModel") else "0"], dict[str, list[Any]]()
    exog = np.asarray(model.exog, dtype=float)
    for values, name in zip(exog.T, model.exog_names[: exog.shape[1]], strict=True):  # parameters beside them follow
        column = column_of(values, str(name), records.drop(columns=response))
        if np.all(values == 1.0):
            terms[0] = "1"
        elif column is not None:
            terms.append(quoted(column))
        else:
            variable, level = dummy_of(values, str(name), records.drop(columns=response), place)
            dummies.setdefault(variable, []).append(level)
    for variable, levels in dummies.items():
        left = [level for level in records[variable].dropna().unique() if level not in levels]
        if len(left) > 1 or (not left and terms[0] == "1"):
            raise OutputError(
                f"{place}: the fit has dummies of {variable!r} for {levels} and none for {left}; leave out one level, "
                "the reference, or fit it by a formula"
            )
        base = f", contr.treatment(base={_plain(left[0])!r})" if left else ""
        terms.append(f"C({quoted(variable)}{base})")
    return f"{quoted(response)} ~ {' + '.join(terms)}"


def column_of(values: Array, name: str, records: pd.DataFrame) -> str | None:
    """The column that has these values, by its name first; None if there is none."""
    if len(values) != len(records):
        return None
    for column in sorted(map(str, records.columns), key=lambda each: each != name):
        kept = records[column]
        if (pd.api.types.is_numeric_dtype(kept.dtype)) and np.array_equal(kept.to_numpy(dtype=float), values):
            return column
    return None


def _outcomes_of(values: Array, name: str, records: pd.DataFrame) -> str | None:
    """The column whose levels, numbered from 0 as MNLogit does, have these values, by its name first; None if none."""
    for column in sorted(map(str, records.columns), key=lambda each: each != name):
        if len(values) == len(records) and np.array_equal(pd.Categorical(records[column]).codes, values):
            return column
    return None


def dummy_of(values: Array, name: str, records: pd.DataFrame, place: str) -> tuple[str, Any]:
    """The variable and the level that a column of 0 and 1 stands for; variables that its name begins with first."""
    if np.isin(values, (0.0, 1.0)).all() and len(values) == len(records):
        for column in sorted(map(str, records.columns), key=lambda each: not name.startswith(each)):
            levels = records[column][values == 1.0].unique()
            if len(levels) == 1 and np.array_equal((records[column] == levels[0]).to_numpy(), values == 1.0):
                return column, levels[0]
    raise OutputError(
        f"{place}: column '{name}' of the fit's matrix is no column of the data, and no dummy of one; {_advice('')}; "
        "or fit it by a formula"
    )


def _columns(exog: Array, design: Array, names: list[str], output: Regression, place: str) -> list[int]:
    """Which column of the fit's matrix each column of the design is; OutputError unless they are the same columns."""
    places: list[int] = []
    for column, label in zip(design.T, output.columns, strict=True):
        at = next((j for j, other in enumerate(exog.T) if j not in places and np.allclose(column, other)), None)
        if at is None:
            raise OutputError(
                f"{place}: '{label}' of the formula {output.formula!r} has other values in the data than in the fit, "
                f"whose columns are {names}; {_advice(output.where)}"
            )
        places.append(at)
    if len(places) < exog.shape[1]:
        left = next(name for j, name in enumerate(names) if j not in places)
        raise OutputError(f"{place}: '{left}' of the fit is no column of the formula {output.formula!r} on the data")
    return places


def _numbers(model: Any, name: str, otherwise: float = 0.0) -> Array:
    """What a model adds or weighs by, (n,) or (1,) where it has nothing of the kind."""
    found = getattr(model, name, None)
    values = np.atleast_1d(np.asarray(otherwise if found is None else found, dtype=float))
    return values if values.size else np.array([otherwise])


def _expression(values: Array, records: pd.DataFrame, what: str) -> str:
    """A column of the records, or its logarithm, that has these values."""
    column = column_of(values, "", records)
    if column is not None:
        return quoted(column)
    with np.errstate(over="ignore"):
        column = next(
            (
                str(name)
                for name in records.columns
                if pd.api.types.is_numeric_dtype(records[name].dtype)
                and len(values) == len(records)
                and np.allclose(np.exp(values), records[name].to_numpy(dtype=float))
            ),
            None,
        )
    if column is None:
        raise OutputError(f"{what} no column of the data, nor the logarithm of one; add it to them")
    return f"log({quoted(column)})"


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
