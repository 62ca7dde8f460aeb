"""The families of disclosure measures as sections: each function asks `outrisk.risk` and arranges what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from outrisk.assess.measured.sections import Request, Section, Table
from outrisk.risk.attacks.attack import attack
from outrisk.risk.attribution.family import cap
from outrisk.risk.coding.frames import code_tables
from outrisk.risk.families import BUILT_IN, FAMILIES, Question, rows_of
from outrisk.risk.meanings import meaning_of
from outrisk.risk.rows import ALL, RISKIER, Row, mean_row
from outrisk.risk.synthpop.disclosure import Disclosure, disclosure
from outrisk.risk.synthpop.margins import ALONE
from outrisk.risk.synthpop.targets import multi_disclosure


def disclosure_sections(request: Request) -> Iterator[Section]:
    """Identity, attribute and CAP measures of the target as synthpop defines them, and their checks."""
    result = disclosure(
        request.original,
        list(request.synthetic),
        request.holdout,
        keys=request.keys,
        target=request.target,
        codebook=request.codebook,
        ngroups_keys=request.ngroups_keys,
    )
    held = request.holdout is not None  # then these tables say the same again
    tables = [
        Table("Identity disclosure, shares of records", _by_synthesis(result.identity), details=held),
        Table(
            "Attribute disclosure, shares of records (max_denom, mean_denom: records)",
            _by_synthesis(result.attribute),
            details=held,
        ),
        Table("Correct attribution probability (CAP)", _by_synthesis(result.cap), details=held),
        *([] if held else [_legend(result)]),
    ]
    against = []
    if request.holdout is not None:
        caption = "Original against holdout; the difference with its 95 % interval"
        caption += "; means over the synthetic tables" if len(request.synthetic) > 1 else ""
        rows = [row for row in result.rows if row.measure not in ALONE]
        against = [row_table(caption, [[replace(row, reason="") for row in rows]])]
    yield Section(
        "disclosure",
        f"Disclosure of {request.target}, as synthpop defines it",
        (*against, *tables),
        (*result.notes, *_reasons(result.rows if against else [])),
        "against" if against else "",
        rows=tuple(result.rows),
    )
    yield Section(
        "checks",
        f"Checks and profiles of {request.target}",
        (
            Table("Target levels to check (check_1way)", result.check_1way),
            Table("Pairs of target and key level to check (check_2way)", result.check_2way),
            Table("Records by size of their class, and by the target levels in it", result.profiles),
        ),
        details=True,
    )


def _legend(result: Disclosure) -> Table:
    """What each measure counts, where no table of rows has it beside the name."""
    names = [*result.identity.columns, *result.attribute.columns, *result.cap.columns]
    meanings = pd.DataFrame({"measure": names, "meaning": [meaning_of(name) for name in names]})
    return Table("What each measure counts", meanings)


def target_sections(request: Request) -> Iterator[Section]:
    """The targets compared, where several were asked for."""
    if not request.targets:
        return
    result = multi_disclosure(
        request.original,
        list(request.synthetic),
        request.holdout,
        keys=request.keys,
        targets=[request.target, *request.targets],
        codebook=request.codebook,
        ngroups_keys=request.ngroups_keys,
    )
    against = ["holdout", "difference", "low", "high"] if request.holdout is not None else []
    columns = ["target", "original", "synthetic", *against, "baseline", "check_1way", "check_2way"]
    failed = result.table[result.table["synthetic"].isna()]
    yield Section(
        "targets",
        "The targets by rising risk",
        (
            Table(
                f"{result.against} of the original, {result.measure} of the synthetic data",
                result.table[columns],
            ),
        ),
        tuple(f"{row.target}: {row.reason}" for row in failed.itertuples()),
        "targets",
    )


def cap_sections(request: Request) -> Iterator[Section]:
    """The CAP family over all key sets of the sizes asked for, a table a size."""
    if not request.key_sizes:
        return
    results = [
        cap(
            request.original,
            synthetic,
            request.holdout,
            keys=request.keys,
            target=request.target,
            key_sizes=request.key_sizes,
            codebook=request.codebook,
        )
        for synthetic in request.synthetic
    ]
    sizes = [*(["all"] if len(request.key_sizes) > 1 else []), *map(str, request.key_sizes)]
    yield Section(
        "cap",
        f"Correct attribution of {request.target} over key sets",
        tuple(
            row_table(
                "Means over all key sets" if size == ALL else f"Means over the sets of {size} keys",
                [[row for row in result.rows if row.size == size] for result in results],
            )
            for size in sizes
        ),
        (
            "0CAP, ICAP, GCAP and R (the attacker's accuracy) as Hittmeir, Mayer and Ekelhart (2020) define them; TCAP "
            "and WEAP as Taub and Elliot (2019) do, not synthpop.",
            *_no_interval(request),
        ),
        "" if request.holdout is None else "against",
    )


def attack_sections(request: Request) -> Iterator[Section]:
    """Classifiers trained on the synthetic data."""
    if not request.attacks:
        return
    results = [
        attack(
            request.original,
            synthetic,
            request.holdout,
            keys=request.keys,
            target=request.target,
            encoding=request.attacks,
            codebook=request.codebook,
        )
        for synthetic in request.synthetic
    ]
    yield Section(
        "attacks",
        f"Classifiers that guess {request.target}, trained on the synthetic data",
        (row_table("Accuracy: share of people whose target is guessed", [result.rows for result in results]),),
        ("zero_rule and uniform do not look at the keys: read the others against them.", *_no_interval(request)),
        "" if request.holdout is None else "against",
    )


def registered_sections(request: Request) -> Iterator[Section]:
    """A section for each family that was registered from outside."""
    question = Question(request.keys, request.target)
    for family in [family for name, family in FAMILIES.items() if name not in BUILT_IN]:
        several = [
            rows_of(
                family,
                code_tables(
                    request.original, synthetic, request.holdout, request.keys, request.target, request.codebook
                ),
                question,
            )
            for synthetic in request.synthetic
        ]
        figure = "" if request.holdout is None else "against"
        yield Section(family.name, family.title, (row_table(family.title, several),), (), figure)


def row_table(caption: str, several: Sequence[Sequence[Row]]) -> Table:
    """Rows of each synthetic table and, where there are several, their means by measure.

    Columns that hold nothing, but for the original's, are left out.
    """
    found = [("", row) for row in several[0]]
    if len(several) > 1:
        found = [(str(i), row) for i, rows in enumerate(several, start=1) for row in rows]
        found += [("mean", mean_row(alike)) for alike in zip(*several, strict=True)]
    frame = pd.DataFrame([{"synthesis": synthesis, **_shown(row)} for synthesis, row in found])
    kept = [name for name in frame if name == "original" or not (frame[name].isna() | (frame[name] == "")).all()]
    return Table(caption, frame[kept])


def _shown(row: Row) -> dict[str, object]:
    """The columns of a row that people read."""
    return {
        "measure": row.measure,
        "meaning": meaning_of(row.measure, row.family),
        "original": row.original,
        "original_low": row.original_low,
        "original_high": row.original_high,
        **{name: getattr(row, name) for name in ("holdout", "difference", "low", "high", "method")},
        **{name: getattr(row, name) for name in ("worst_case", "baseline")},
        "direction": "" if row.direction == RISKIER else row.direction,
        "key_sets": f"{row.defined:,} of {row.sets:,}" if row.size else "",
        "note": row.note if row.family != "privacy" else "",
        "reason": "" if row.reason == "no_holdout" else row.sentence,
    }


def _no_interval(request: Request) -> Iterator[str]:
    if len(request.synthetic) > 1 and request.holdout is not None:
        yield "The means over the synthetic tables have no interval here."


def _by_synthesis(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows by synthetic table, and their mean where there are several."""
    shown = frame.reset_index()
    if len(frame) == 1:
        return shown.drop(columns="synthesis")
    mean = pd.DataFrame([{"synthesis": "mean", **frame.mean()}])
    return pd.concat([shown.astype({"synthesis": object}), mean], ignore_index=True)


def _reasons(rows: Sequence[Row]) -> Iterator[str]:
    """Why a difference or its interval is undefined, one line a reason."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.sentence:
            by_reason.setdefault(row.sentence, []).append(row.measure)
    for reason, measures in by_reason.items():
        yield f"{', '.join(dict.fromkeys(measures))}: {reason}"
