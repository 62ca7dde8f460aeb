"""A printed regression as the entry of a study: its coefficients by term, its reference levels, its precision."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.grammar import named_in
from outrisk.outputs.base import Subset
from outrisk.outputs.regression.cox_entry import CoxEntry
from outrisk.outputs.regression.instrumental_entry import InstrumentalEntry
from outrisk.outputs.regression.mixed_entry import MixedEntry
from outrisk.outputs.regression.quantile_regression_entry import QuantileRegressionEntry
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.regression_entry import FormulaEntry, RegressionEntry
from outrisk.outputs.regression.release import INFERENCE, ORDERED
from outrisk.outputs.regression.sandwich import Estimator, meant
from outrisk.readers.below_headings import without_headings
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.equations import ALONE, equations_of, same_terms
from outrisk.readers.printed_fixed_effects import absorbing
from outrisk.readers.printed_instruments import instrumented
from outrisk.readers.printed_mixed import of_groups
from outrisk.readers.printed_quantiles import of_quantile
from outrisk.readers.printed_regression import parts_of, printed_decimals, with_values
from outrisk.readers.remarks import remark
from outrisk.readers.rows_of_shape import apart
from outrisk.readers.same_model import hold_cox, hold_response, hold_subset, hold_weight, hold_words
from outrisk.readers.survey_designs import with_design
from outrisk.readers.table_formulas import formula_of, levels_in, with_levels
from outrisk.readers.term_names import Term, counted_level, in_words, is_short_for, read_term

_PLAIN = ("ols", "probit", "oprobit", "quantreg")  # whose coefficients hardly anybody exponentiates


def entry_of_coefficients(table: Coefficients, entry: FormulaEntry, codebook: Codebook, place: str) -> FormulaEntry:
    """The entry with the values of the table, in the order of its labels; its reference levels are the table's.

    OutputError, with the names on both sides, where table and formula are not of one model.
    """
    table = _as_said(table, entry, place)
    hold_subset(table, entry, place)
    if table.unread:
        remark(place, f"not assessed of the model: {'; '.join(table.unread)}")
    if isinstance(entry, CoxEntry):
        hold_cox(table, entry, codebook, place)
        entry = _of_table(table, entry, place)
    elif isinstance(entry, RegressionEntry):
        entry = absorbing(table, entry, codebook, place)
        entry, table = _with_errors(table, entry, codebook, place)
    elif isinstance(entry, InstrumentalEntry):
        entry, table = instrumented(table, entry, codebook, place)
    elif isinstance(entry, MixedEntry):
        entry = of_groups(table, entry, codebook, place)
    elif isinstance(entry, QuantileRegressionEntry):
        entry, table = of_quantile(table, entry, place)
    response = _response(table, entry, codebook, place)
    absorbed = (*getattr(entry, "absorb", ()), getattr(entry, "groups", ""))
    names = [name for name in _variables(entry, codebook, response) if name not in absorbed]
    own = {
        *names,
        *absorbed,
        *named_in(response, codebook.names),
        getattr(entry, "status", ""),
        getattr(entry, "weight", ""),
    }
    hold_words(table.words, entry, [*own], codebook, place, response)
    table = apart(table, entry.kind, response, codebook, names, place)
    if table.headed:
        references = _bare(entry).build(codebook, 1)[0].references
        table, terms, bases = without_headings(table, codebook, names, references, place)
    else:
        terms = [read_term(name, codebook, names, place) for name, _ in table.rows]
        bases = [read_term(name, codebook, names, place) for name in table.bases]
    terms, bases = _counted(terms, codebook, table), _counted(bases, codebook, table)
    equations = {ALONE: list(range(len(terms)))}
    if entry.kind == "mnlogit":
        equations, base = equations_of(table.outcomes, table.base, response, codebook, place)
        entry = entry.model_copy(update={"base": base})
    for rows in equations.values():
        _check_once([(table.rows[row][0], terms[row]) for row in rows], place)
    same_terms(equations, terms, place)
    first = [terms[row] for row in next(iter(equations.values()))]
    model = _model(table, entry, codebook, response, first, bases, place)
    built = model.build(codebook, 1)[0]
    order = list[int | None]()
    for rows in (equations[outcome] for outcome in (built.outcomes[1:] if entry.kind == "mnlogit" else [ALONE])):
        written = [(table.rows[row][0], terms[row]) for row in rows]
        order += [None if at is None else rows[at] for at in _order(built, written, codebook, names, place)]
    return with_values(table, model, built, order, place)


def _as_said(table: Coefficients, entry: FormulaEntry, place: str) -> Coefficients:
    """The table, with what it leaves open as the output says it; OutputError where it is of another kind of model."""
    if not any(texts.get("coefficients", "").strip() for _, texts in table.rows):
        raise OutputError(f"{place}: there are no coefficients in it")
    kinds = (table.kind,) if table.kind else table.kinds
    if kinds and entry.kind not in kinds:
        of = f"{'an' if kinds[0][0] in 'io' else 'a'} {' or '.join(kinds)}"
        raise OutputError(f"{place}: the table is of {of}, the output says kind: {entry.kind}; correct it")
    if table.ordered and entry.kind not in ORDERED:
        raise OutputError(
            f"{place}: the table is of an ordered regression ({' or '.join(ORDERED)}), the output says kind: "
            f"{entry.kind}; correct it"
        )
    if table.headed and not entry.formula and not entry.terms:
        raise OutputError(
            f"{place}: the table does not say which terms of the model it leaves out, as gtsummary does the constant; "
            "give the output its formula, and 'keep' if some are not printed"
        )
    if table.headed and entry.exponentiate and not table.exponentiated and not table.open_scale:
        raise OutputError(f"{place}: its estimates are not exp(b), the output says exponentiate: true; correct it")
    if table.open_scale:
        if "exponentiate" not in entry.model_fields_set and entry.kind not in _PLAIN:
            raise OutputError(
                f"{place}: whether its estimates are exp(b) it does not say, and all are above 0; give the output "
                "exponentiate: true, or false"
            )
        if entry.exponentiate and any(name.startswith("/") for name, _ in table.rows):
            raise OutputError(
                f"{place}: whether its thresholds or dispersion are exponentiated as well, it does not say; write the "
                "table without exponentiating"
            )
        errors = table.errors_of_ratios and entry.exponentiate
        table = replace(table, exponentiated=entry.exponentiate, errors_of_ratios=errors, open_scale=False)
    if entry.kind == "cox" and table.n_may_be_events and "n" in table.single:
        remark(place, "the number of records is not assessed: of a Cox model it may be that of events")
        table = replace(table, single={part: text for part, text in table.single.items() if part != "n"})
    return table


def _of_table(table: Coefficients, entry: CoxEntry, place: str) -> CoxEntry:
    """The entry with the status, its event, strata and ties of the table, where it does not say them itself."""
    if table.stratified and not table.strata and "strata" not in entry.model_fields_set:
        raise OutputError(f"{place}: the table is stratified and does not say by what; give the output its 'strata'")
    said = {name: getattr(table, name) for name in ("status", "event", "strata", "ties")}
    new = {name: each for name, each in said.items() if each and name not in entry.model_fields_set}
    return CoxEntry.model_validate(entry.model_dump(exclude_unset=True) | new)


def _with_errors(
    table: Coefficients, entry: RegressionEntry, codebook: Codebook, place: str
) -> tuple[RegressionEntry, Coefficients]:
    """The entry with the weight of the table, and with how its standard errors were computed where the study does not
    say that; and the table, without a covariance where it is not known. OutputError where the two contradict.
    """
    said, new = entry.model_fields_set, dict[str, Any]()
    weighed = not {"weight", "covariance", "cluster"} & said  # by the study, in another way
    alone = table.survey is not None and table.survey.program == "r" and not table.survey.clustered
    if entry.design or (weighed and table.survey and not alone):
        design = with_design(table.survey, entry.design, codebook, place)
        if entry.design and (table.robust == "nonrobust" or table.clustered):
            raise OutputError(
                f"{place}: the standard errors of the table are not those of a survey, and the output has a design; "
                "correct it"
            )
        if design is not None:
            table = replace(table, robust="", covariance="", weighted=False, distribution="")
            return entry.model_copy(update={"design": design}), table
    hold_weight(table, entry.weight, codebook, place)
    if table.weighted and "weight" not in said:
        if table.weight not in codebook:
            what = f"by '{table.weight}', which is no variable" if table.weight else "by what it does not say simply"
            raise OutputError(f"{place}: the table is weighted, {what}; give the output its 'weight'")
        new["weight"] = table.weight
    cluster = entry.cluster if "cluster" in said else table.cluster if table.cluster in codebook else ""
    covariance = _agreed(table, entry, cluster, codebook, place)
    table = replace(table, covariance=covariance)
    if set(INFERENCE) & set(parts_of(table, entry, place)):
        if covariance:
            new |= {"covariance": covariance} | ({"cluster": cluster} if cluster else {})
        usual = "t" if entry.kind == "ols" else "normal"
        if table.distribution not in ("", usual) and "distribution" not in said:
            new["distribution"] = table.distribution
    return RegressionEntry.model_validate(entry.model_dump(exclude_unset=True) | new), table


def _agreed(table: Coefficients, entry: RegressionEntry, cluster: str, codebook: Codebook, place: str) -> Estimator:
    """The covariance of table and study, which are of one `cluster`; '' where it is not known. OutputError where they
    differ.
    """
    told, own = entry.covariance, {"covariance", "cluster"} & entry.model_fields_set
    if own and not table.covariance and re.fullmatch("hc[0-3]|hac", table.robust):
        raise OutputError(
            f"{place}: the standard errors of the table are {table.robust.upper()}, which no output has, and the "
            f"output has a '{sorted(own)[-1]}'; take it out"
        )
    if own and table.robust == "nonrobust":
        raise OutputError(
            f"{place}: the standard errors of the table are those of the model, and the output has a "
            f"'{sorted(own)[-1]}'; correct it"
        )
    if table.cluster in codebook and cluster != table.cluster:
        raise OutputError(
            f"{place}: the standard errors of the table are clustered by '{table.cluster}', the output says cluster: "
            f"{cluster or 'none'}; correct it"
        )
    if table.clustered and not cluster:
        if told:
            of = f" of '{table.cluster}', which is no variable" if table.cluster else ""
            raise OutputError(f"{place}: its standard errors are by clusters{of}; give the output its 'cluster'")
        return ""
    if "cluster" in own and table.robust and not table.clustered and table.covariance:
        raise OutputError(f"{place}: the standard errors of the table are not by clusters; take 'cluster' out")
    if not told:
        return table.covariance or ("robust" if own else "")
    of_records = {"HC0": "CR0", "HC1": "CR1S"}  # each of which is a cluster
    two = [meant(each, entry.kind == "ols") for each in (told, table.covariance)]
    if table.covariance and len({of_records.get(each, each) for each in two}) > 1:
        raise OutputError(
            f"{place}: the standard errors of the table are {table.covariance}, the output says covariance: {told}; "
            "correct it"
        )
    return told


def _bare(entry: FormulaEntry) -> FormulaEntry:
    """The entry with its coefficients alone, as they are."""
    found = entry.model_copy(
        update={"values": None, "release": ("coefficients",), "decimals": 4, "exponentiate": False}
    )
    if isinstance(found, RegressionEntry):
        return found.model_copy(update={"covariance": "", "cluster": "", "distribution": ""})
    if isinstance(found, InstrumentalEntry):
        return found.model_copy(update={"covariance": "", "cluster": ""})
    return found


def _check_once(written: Sequence[tuple[str, Term]], place: str) -> None:
    """OutputError where two rows of an equation are of one term."""
    terms = [term for _, term in written]
    twice = next((term for term in terms if terms.count(term) > 1), None)
    if twice is not None:
        names = [name for name, term in written if term == twice]
        raise OutputError(f"{place}: {names} are all {in_words(twice)}; keep one")


def _response(table: Coefficients, entry: FormulaEntry, codebook: Codebook, place: str) -> str:
    said = entry.response or (entry.formula.partition("~")[0].strip() if entry.formula else "")
    short = [name for name in codebook.names if is_short_for(table.response, name)]
    response = said or (short[0] if len(short) == 1 else table.response)
    if not response:
        raise OutputError(f"{place}: the table does not say its response; add 'response' or 'formula' to the output")
    if not said and response not in codebook:
        raise OutputError(
            f"{place}: the response '{response}' of the table is no variable; variables are {codebook.names}"
        )
    hold_response(table.response, said, codebook, place, entry.where)
    return response


def _variables(entry: FormulaEntry, codebook: Codebook, response: str) -> list[str]:
    """Variables that the names of a table can be of: those of the formula, if there is one."""
    if entry.terms:
        return list(entry.terms)
    names = [name for name in codebook.names if name != response]
    if entry.formula:
        used = _bare(entry).build(codebook, 1)[0].variables
        return [name for name in names if name in used]
    return names


def _counted(terms: Sequence[Term], codebook: Codebook, table: Coefficients) -> list[Term]:
    """Terms with counted levels, such as sex(1), as the levels that they are."""

    def resolved(name: str, level: str) -> str:
        if not level.startswith("#"):
            return level
        labels = [label for label in codebook[name].labels if label != "Missing"]
        return counted_level(labels, labels[-1] if table.last_reference else labels[0], int(level[1:])) or level

    return [tuple(sorted((name, resolved(name, level)) for name, level in term)) for term in terms]


def _model(
    table: Coefficients,
    entry: FormulaEntry,
    codebook: Codebook,
    response: str,
    terms: Sequence[Term],
    bases: Sequence[Term],
    place: str,
) -> FormulaEntry:
    """The entry with the formula of the table, or its own with the table's reference levels; with its parts."""
    changes: dict[str, Any] = {"values": None, "release": parts_of(table, entry, place), "level": table.level}
    if table.level is None:
        changes["level"] = entry.level
        if "confidence_limits" in changes["release"] and "level" not in entry.model_fields_set:
            remark(place, f"it does not say the level of its limits, which are taken for {100 * entry.level:g} %")
    elif "confidence_limits" in changes["release"] and "level" in entry.model_fields_set and entry.level != table.level:
        raise OutputError(
            f"{place}: its limits are those at {100 * table.level:g} %, the output says level: {entry.level:g}; "
            "correct one of them"
        )
    elif "confidence_limits" in changes["release"] and table.level != entry.level:
        remark(place, f"its limits are those at {100 * table.level:g} %")
    if table.exponentiated:
        changes["exponentiate"] = True
    changes["decimals"] = printed_decimals(table, entry, changes["release"])
    if not entry.formula and not entry.terms:
        constant = (
            () in terms or bool(getattr(entry, "absorb", ())) or entry.kind in ("cox", *ORDERED)
        )  # whose constant is none of its coefficients
        changes |= {"formula": formula_of(response, terms, bases, constant, codebook, place), "response": ""}
        return _changed(entry, changes)
    bare = _bare(entry).build(codebook, 1)[0]
    current, hidden, formula = bare.references, _not_printed(bare, codebook, response, place), entry.formula
    for name, present in levels_in(terms).items():
        if name not in current or not current[name]:
            continue
        present_or_hidden = {*present, *hidden.get(name, ()), "Missing"}
        missing = [level for level in codebook[name].labels if level not in present_or_hidden]
        said = [level for term in bases for variable, level in term if variable == name and level in missing]
        reference = current[name] if current[name] in missing else ""
        reference = said[0] if said else reference or (missing[0] if len(missing) == 1 else "")
        if not missing or not reference:
            raise OutputError(
                f"{place}: the table has {name} = {', '.join(sorted(present))}"
                + (
                    f" and none of {', '.join(missing)}: which of them is the reference, it does not say"
                    if missing
                    else ", every level, and the model has a reference level"
                )
                + f"; write it in the formula: C({name}, Treatment(reference=...))"
            )
        rest = [level for level in missing if level != reference]
        if rest and not Subset(codebook, entry.where, name).excludes(name, rest):
            raise OutputError(
                f"{place}: the table has no coefficient for {name} = {', '.join(rest)}; say with 'where' that these "
                "records were left out, or correct the table"
            )
        if entry.terms:
            if rest:
                raise OutputError(f"{place}: levels of '{name}' are left out; give 'formula' in place of 'terms'")
            changes.setdefault("reference", dict(entry.reference))[name] = reference
        elif rest or reference != current[name]:
            formula = with_levels(formula, name, reference, rest, codebook, place)
    return _changed(entry, changes | ({"formula": formula} if entry.formula else {}))


def _not_printed(built: Regression, codebook: Codebook, response: str, place: str) -> dict[str, list[str]]:
    """Levels of variables whose coefficients `keep` leaves out."""
    names, found = [name for name in built.variables if name != response], dict[str, list[str]]()
    for column, kept in zip(built.columns, built.kept_columns, strict=True):
        term = () if kept else read_term(column, codebook, names, place)
        if len(term) == 1 and term[0][1]:
            found.setdefault(term[0][0], []).append(term[0][1])
    return found


def _changed(entry: FormulaEntry, changes: Mapping[str, Any]) -> FormulaEntry:
    return type(entry).model_validate({**entry.model_dump(), **changes})


def _order(
    built: Regression,
    written: Sequence[tuple[str, Term]],
    codebook: Codebook,
    names: Sequence[str],
    place: str,
) -> list[int | None]:
    """Which of the rows written (name, term) each column of the design is, None for one that is not printed: a constant
    that is left out, or what `keep` does not name. OutputError unless they are the same but for that.
    """
    columns = [read_term(column, codebook, names, place) for column in built.columns]
    for name, term in written:
        if term not in columns:
            raise OutputError(
                f"{place}: the table has '{name}' ({in_words(term)}), and the model {built.formula!r} has no such "
                f"coefficient; its coefficients are {'; '.join(map(in_words, columns))}"
            )
    terms = [term for _, term in written]
    printed = [column for column, kept in zip(columns, built.kept_columns, strict=True) if kept]
    extra = next((name for name, term in written if term not in printed), None)
    if extra is not None:
        raise OutputError(
            f"{place}: the table prints '{extra}', which 'keep' leaves out; take it out of the table, or let 'keep' "
            "name its term"
        )
    absent = [in_words(column) for column in printed if column and column not in terms]
    if absent:
        raise OutputError(
            f"{place}: the table has no coefficient for {'; '.join(absent)}, which the model has; add it, or say with "
            "'keep' which terms are printed"
        )
    return [terms.index(column) if column in terms else None for column in columns]
