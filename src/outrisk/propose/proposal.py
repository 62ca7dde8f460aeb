"""A proposal for a study: columns, keys, target and outputs, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import ConfigError, did_you_mean
from outrisk.propose.one_column import Column, Rules, Use, look_at
from outrisk.propose.words import names_known, names_sensitive
from outrisk.tabular import Table

_MOST_KEYS = 6
_FEWEST_KEYS = 3
_LEVELS_OF_KEY = 50  # where nothing but distinctness speaks for a column
_LEVELS_OF_TARGET = 20
_MADE = "add it to the file, or name another and put yours under 'derive' in the study, and into its codebook"
Ask = Callable[[str, Sequence[str], str], str]  # a question, the answers there are, the safe one: which was given


@dataclass(frozen=True)
class Wishes:
    """What the user says; what is empty is proposed. `missing`: codes by column, those under '' of every column.

    outputs: how many outputs, beside those here, each column is known to stand in.
    """

    keys: Sequence[str] = ()
    target: str = ""
    formulas: Sequence[str] = ()
    tables: Sequence[Sequence[str]] = ()
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: Rules = field(default_factory=lambda: Rules(10))
    outputs: Mapping[str, int] = field(default_factory=dict)

    @property
    def named(self) -> list[str]:
        """Columns that keys, target and tables name."""
        return [*self.keys, *([self.target] if self.target else []), *(name for each in self.tables for name in each)]


@dataclass(frozen=True)
class Proposal:
    """What a study can begin with. `keys` and `target` come with the reason; `outputs` are entries of a study file."""

    columns: tuple[Column, ...]
    keys: Mapping[str, str]
    target: str
    target_reason: str
    outputs: tuple[dict[str, Any], ...]
    given: bool  # whether outputs were given rather than proposed
    threshold: int

    @property
    def codebook(self) -> Codebook:
        """The variables that point at nobody."""
        return Codebook(tuple(column.variable for column in self.columns if column.variable is not None))

    @property
    def left_out(self) -> list[Column]:
        """Columns that do not go into the codebook."""
        return [column for column in self.columns if column.variable is None]

    def data_section(self) -> dict[str, Any]:
        """What the study says of single columns under `data`."""
        kept = [column for column in self.columns if column.variable is not None]
        return {
            key: found
            for key, found in (
                ("missing", {column.name: list(column.missing) for column in kept if column.missing}),
                ("years", [column.name for column in kept if column.year]),
                ("derive", {column.name: column.derive for column in kept if column.derive}),
                ("merge", {column.name: column.other for column in kept if column.unlisted == "merge"}),
                ("known", [column.name for column in kept if column.unlisted == "drop"]),
            )
            if found
        }


def propose(table: Table, source: str, wishes: Wishes, ask: Ask | None = None) -> Proposal:
    """A proposal for the records of a table; `ask` is asked where a person should decide (None: the safe answer).

    ConfigError, in one line, for a name that is no column, and for one that is wanted and points at single people.
    """
    names = [str(name) for name in table.frame.columns]
    if len(names) < 2:
        raise ConfigError(f"{source}: one column only; a study needs a key and a target")
    for name in (*wishes.named, *(name for name in wishes.missing if name)):
        _check_name(name, names, source)
    if wishes.target in wishes.keys:
        raise ConfigError(
            f"{source}: target '{wishes.target}' is among the keys {list(wishes.keys)}; an intruder who knows it "
            "learns nothing: name another"
        )
    uses = _uses(wishes.formulas, names, source)
    columns = []
    for name in names:
        column = _decided(table, name, wishes, uses.get(name, ""), ask)
        if column.variable is None and name in (*wishes.named, *uses):
            by_it = ": a table by it would be a list of people, which is not to be released"
            raise ConfigError(
                f"{source}: column '{name}' cannot go into a codebook, which counts as public: {column.why}"
                f"{by_it if 'identifier' in column.why else ''}; name another, or band it first"
            )
        columns.append(column)
    usable = {column.name: column for column in columns if column.variable is not None}
    if len(usable) < 2:
        reason = next((f"; '{each.name}': {each.why}" for each in columns if each.variable is None), "")
        raise ConfigError(
            f"{source}: {len(usable)} column can go into a codebook, a study needs a key and a target{reason}"
        )
    target, reason = (wishes.target, "as you said") if wishes.target else _target(usable, wishes.keys)
    keys = dict.fromkeys(wishes.keys, "as you said") or _keys(usable, target, wishes.outputs)
    outputs = [{"kind": "frequencies", "by": list(by)} for by in wishes.tables]
    outputs += [_model(formula, usable) for formula in wishes.formulas]
    if outputs:
        wanted = {*keys, target, *uses, *wishes.named}
        columns = [each if each.name in wanted or each.variable is None else _unwanted(each) for each in columns]
    given = bool(outputs)
    coarse = sorted(keys, key=lambda name: usable[name].variable.numeric)  # type: ignore[union-attr]
    first = coarse[:1] + ([target] if target else coarse[1:2])
    return Proposal(
        tuple(columns),
        keys,
        target,
        reason,
        tuple(outputs) or ({"kind": "frequencies", "by": first},),
        given,
        wishes.rules.threshold,
    )


def _unwanted(column: Column) -> Column:
    return replace(column, variable=None, why="in no output, and neither key nor target", rare={})


def _check_name(name: str, names: Sequence[str], source: str) -> None:
    if name not in names:
        apart = "; separate names by blanks" if "," in name else ""
        close = did_you_mean(name, names)
        made = "" if apart or close else f"; what is to be derived from columns must be one: {_MADE}"
        raise ConfigError(f"{source}: no column {name!r}; columns are {list(names)}{close}{apart}{made}")


def _decided(table: Table, name: str, wishes: Wishes, use: Use, ask: Ask | None) -> Column:
    """What is proposed for a column, a person having been asked where one can be."""
    missing = wishes.missing.get(name, wishes.missing.get(""))
    given = None if missing is None else tuple(missing)
    rules = wishes.rules
    if name == wishes.target and not rules.rare:  # to merge what few people have is to ask about something else
        rules = replace(rules, rare="keep")
    levels, label = table.levels.get(name, {}), table.labels.get(name, "")

    def look(rules: Rules, codes: tuple[str, ...] | None) -> Column:
        return look_at(table.frame[name], rules, codes, levels, label, use)

    column = look(rules, given)
    if ask is None:
        return column
    codes = (*column.missing, *column.doubtful)
    if given is None and codes:
        safe = "yes" if column.missing else "no"
        shown = ", ".join(repr(code) for code in codes)
        question = f"Column '{name}': {'does' if len(codes) == 1 else 'do'} {shown} mean a missing value?"
        given = codes if ask(question, ("yes", "no"), safe) == "yes" else ()
        column = look(rules, given)
    if column.rare and not wishes.rules.rare:
        question = f"Column '{name}': {rare_levels(column, rules.threshold)}. Merge, drop their records, or keep?"
        answer: Any = ask(question, ("merge", "drop", "keep"), rules.rare or "merge")
        column = look(replace(rules, rare=answer), given)
    return column


def rare_levels(column: Column, threshold: int) -> str:
    """The levels of few people, in words for the terminal; nothing of it is written."""
    shown = [f"'{level}' ({people})" for level, people in list(column.rare.items())[:5]]
    more = f" and {len(column.rare) - 5:,} more" if len(column.rare) > 5 else ""
    return f"held by fewer than {threshold} people: {', '.join(shown)}{more}"


def _target(usable: Mapping[str, Column], keys: Sequence[str]) -> tuple[str, str]:
    """A column whose name is of something sensitive, categories before numbers; none where there is none."""
    found = [column for name, column in usable.items() if name not in keys and names_sensitive(name)]
    found.sort(key=lambda column: column.variable is not None and column.variable.size > _LEVELS_OF_TARGET)
    if not found:
        return "", "no column has the name of something sensitive"
    return found[0].name, "sensitive by its name"


def _keys(usable: Mapping[str, Column], target: str, outputs: Mapping[str, int]) -> dict[str, str]:
    """Columns whose names others plausibly know, those in most outputs first, filled up with those of most levels."""
    reasons = {name: names_known(name) for name in usable if name != target and not names_sensitive(name)}
    found = {name: f"{kind}, which others know" for name, kind in reasons.items() if kind}
    found = {name: found[name] for name in sorted(found, key=lambda name: -outputs.get(name, 0))[:_MOST_KEYS]}
    sizes = {name: usable[name].variable.size for name in reasons if name not in found}  # type: ignore[union-attr]
    for name in sorted((name for name, size in sizes.items() if size <= _LEVELS_OF_KEY), key=lambda name: -sizes[name]):
        if len(found) >= _FEWEST_KEYS:
            break
        found[name] = f"it tells people apart ({sizes[name]} values); its name says nothing"
    if not found:
        found = {name: "for want of a better one" for name in list(usable) if name != target}
        found = dict(list(found.items())[:_FEWEST_KEYS])
    return {name: found[name] for name in usable if name in found}


def naming(name: str) -> str:
    """A regular expression that finds where an expression names a column, plainly or between backticks."""
    return rf"(?<![\w.`]){re.escape(name)}(?![\w(])|`{re.escape(name)}`"


def _uses(formulas: Sequence[str], names: Sequence[str], source: str) -> dict[str, Use]:
    """How formulas take each column that they name; ConfigError for one that is none."""
    from outrisk.outputs.regression.terms import check_formula  # with formulaic, which takes a second to import

    found: dict[str, Use] = {}
    for formula in formulas:
        left, tilde, right = formula.partition("~")
        if not tilde or not left.strip() or not right.strip():
            raise ConfigError(f"{source}: formula {formula!r} has no response and terms; write it as 'ill ~ age + sex'")
        try:
            check_formula(formula, names)
        except Exception as error:
            raise ConfigError(f"{source}: formula {formula!r} {error}") from None
        for name in names:
            word = naming(name)
            if re.search(word, left):
                found.setdefault(name, "")
            if re.search(word, right):
                category = re.search(rf"\bC\(\s*(?:{word})", right)
                found[name] = "category" if category or found.get(name) == "category" else "number"
    return found


def _model(formula: str, usable: Mapping[str, Column]) -> dict[str, Any]:
    """A regression, its kind by what the response is."""
    response = formula.partition("~")[0].strip().strip("`")
    variable = usable[response].variable if response in usable else None
    size = 0 if variable is None else len(variable.values)
    kind = "ols"
    if size == 2:
        kind = "logit"
    elif variable is not None and not variable.numeric:
        kind = "mnlogit"
    return {"kind": kind, "formula": formula, "decimals": 4}
