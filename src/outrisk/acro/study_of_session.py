"""A session as a study file with its coverage: what is assessed, what a person has to say, what is not covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from outrisk.acro.proposed import BLANK, Proposed

_HEAD = """\
# A study of an ACRO session, written by 'outrisk init --acro'. Its numbers are read from the session's own files,
# or computed where that is said.
# {covered}
# What could not be known is marked {blank}, with the reason: fill it in and take the '#' before the output away.
name: {name}
acro: {folder}
{data}
# The released outputs.
outputs:
"""
_ROLES = """
# What an intruder may know about a person, and what they want to learn.{check}
keys: [{keys}]
target: {target}
key_sizes: [{sizes}]
appetite: {appetite}   # of the session's config.json
evolve: {{preset: fast, seed: 1}}
study: {{runs: 3, folds: [1, 2]}}
"""


def study_text(
    proposed: Sequence[Proposed],
    name: str,
    folder: str,
    data: str,
    keys: Sequence[str],
    target: str,
    appetite: Mapping[str, Any],
    guessed: bool,
) -> str:
    """The study as commented YAML; `data` are the lines of its data and codebook."""
    ready = [each for each in proposed if each.state == "assessed"]
    parts = [
        _HEAD.format(covered=in_short(proposed), blank=BLANK, name=name, folder=quoted(folder), data=data.rstrip("\n"))
    ]
    parts += [_entries(each, comment=False) for each in ready]
    parts += [_entries(each, comment=True) for each in proposed if each.state == "needs input"]
    parts += [
        f"  # {_plain(each.result.key)}: not covered: {_plain('; '.join(each.notes))}\n"
        for each in proposed
        if each.state == "not covered"
    ]
    parts.append(
        _ROLES.format(
            check=" CHECK." if guessed else "",
            keys=", ".join(map(quoted, keys)) if keys else f"'{BLANK}'",
            target=quoted(target) if target else f"'{BLANK}'   # name the variable",
            sizes=", ".join(map(str, range(min(3, len(keys)), len(keys) + 1))) if keys else 1,
            appetite=yaml.safe_dump(dict(appetite), default_flow_style=True, width=10_000).strip(),
        )
    )
    return "".join(parts)


def _entries(proposed: Proposed, comment: bool) -> str:
    said = [*proposed.notes, *([proposed.agreement] if proposed.agreement else []), *proposed.blanks]
    lines = [f"# {_plain(proposed.result.key)}: {_plain(proposed.result.command or proposed.result.type)}"]
    lines += [f"#   {_plain(text)}" for text in said]
    for entry in proposed.entries:
        shown = dict(entry)
        if comment and "where" not in shown and any("where" in blank for blank in proposed.blanks):
            shown["where"] = BLANK
        for missing in ("kind", "response"):
            if comment and missing not in shown and any(f"{BLANK} {missing}" in blank for blank in proposed.blanks):
                shown[missing] = BLANK
        text = [f"{key}: {quoted(value)}" for key, value in shown.items()]
        lines += [("- " if number == 0 else "  ") + line for number, line in enumerate(text)]
    marked = [f"# {line}" if comment and not line.startswith("#") else line for line in lines]
    return "".join(f"  {line}\n" for line in marked)


def _plain(text: str) -> str:
    """Text in one line that ends no comment."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def quoted(value: Any) -> str:
    """A YAML value in one line."""
    text = yaml.safe_dump(_listed(value), default_flow_style=True, width=1_000_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _listed(each) for key, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value


def in_short(proposed: Sequence[Proposed]) -> str:
    """How many outputs are assessed, need input, are not covered."""
    counts = {state: sum(each.state == state for each in proposed) for state in ("assessed", "needs input")}
    open_, left = counts["needs input"], len(proposed) - sum(counts.values())
    asking = f"{open_} need{'s' if open_ == 1 else ''} input"
    return f"{len(proposed)} outputs: {counts['assessed']} assessed, {asking}, {left} not covered."


def coverage_text(proposed: Sequence[Proposed], session: str) -> str:
    """The coverage of a session as a Markdown table, every output in its order."""
    rows = [
        f"# What OutRisk assesses of the ACRO session {_cell(session)}",
        "",
        in_short(proposed),
        "",
        "| output | ACRO | coverage | what, and why |",
        "| --- | --- | --- | --- |",
    ]
    for each in proposed:
        why = "; ".join([*each.blanks, *each.notes, *([each.agreement] if each.agreement else [])])
        kind = " ".join(part for part in (each.result.type, each.result.method) if part)
        rows.append(f"| {_cell(each.result.key)} | {_cell(kind)} | {each.state} | {_cell(why)} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return _plain(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
