"""The families of disclosure measures as sections: each function asks `outrisk.risk` and arranges what it finds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from outrisk.assess.measured.sections import Request, Section, Table
from outrisk.risk.attacks.attack import attack
from outrisk.risk.attribution.family import cap
from outrisk.risk.coding.classes import HOLDOUT
from outrisk.risk.synthpop.disclosure import Disclosure, disclosure
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
    )
    tables = [
        Table("Identity disclosure, percent of records", _by_synthesis(result.identity)),
        Table(
            "Attribute disclosure, percent of records (max_denom, mean_denom: records)", _by_synthesis(result.attribute)
        ),
        Table("Correct attribution probability (CAP), percent", _by_synthesis(result.cap)),
    ]
    against = _against(result) if request.holdout is not None else None
    yield Section(
        "disclosure",
        f"Disclosure of {request.target}, as synthpop defines it",
        (*([against] if against else []), *tables),
        (*result.notes, *_reasons(result)),
        "against" if against else "",
    )
    yield Section(
        "checks",
        f"Checks and profiles of {request.target}",
        (
            Table("Target levels to check (check_1way)", result.check_1way),
            Table("Pairs of target and key level to check (check_2way)", result.check_2way),
            Table("Records by size of their class, and by the target levels in it", result.profiles),
        ),
    )


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
    )
    against = ["holdout", "marginal", "low", "high"] if request.holdout is not None else []
    columns = ["target", "original", "synthetic", *against, "baseline", "check_1way", "check_2way"]
    failed = result.table[result.table["synthetic"].isna()]
    yield Section(
        "targets",
        "The targets by rising risk",
        (
            Table(
                f"{result.against} of the original, {result.measure} of the synthetic data, percent",
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
    if request.holdout is None:
        columns, counted = ["measure", "mean", "sd"], "n_defined"
        frames = [result.summary for result in results]
    else:
        columns, counted = ["measure", "original", "holdout", "marginal", "low", "high"], "n_both"
        frames = [result.marginal for result in results]
    columns += ["baseline", "key_sets", "reason"]
    frames = [frame.assign(key_sets=_of(frame[counted], frame["n_sets"])) for frame in frames]
    sizes = [*(["all"] if len(request.key_sizes) > 1 else []), *map(str, request.key_sizes)]
    yield Section(
        "cap",
        f"Correct attribution of {request.target} over key sets",
        tuple(
            Table(
                "Means over all key sets" if size == "all" else f"Means over the sets of {size} keys",
                each_and_mean([frame[frame["size"] == size] for frame in frames], columns),
                "share",
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
    frames = [
        attack(
            request.original,
            synthetic,
            request.holdout,
            keys=request.keys,
            target=request.target,
            codebook=request.codebook,
        ).frame.rename(
            columns={"classifier": "measure", "difference": "marginal"}
            | {f"accuracy_{side}": side for side in ("original", HOLDOUT)}
        )
        for synthetic in request.synthetic
    ]
    against = ["holdout", "marginal", "low", "high"] if request.holdout is not None else []
    if not against:
        frames = [frame.replace({"reason": {"no holdout": ""}}) for frame in frames]
    yield Section(
        "attacks",
        f"Classifiers that guess {request.target}, trained on the synthetic data",
        (
            Table(
                "Accuracy: share of people whose target is guessed",
                each_and_mean(frames, ["measure", "original", *against, "note", "reason"]),
                "share",
            ),
        ),
        ("zero_rule and uniform do not look at the keys: read the others against them.", *_no_interval(request)),
        "against" if against else "",
    )


def each_and_mean(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Rows of each synthetic table and, where there are several, their means by measure, which have no interval.

    Of the columns those that hold nothing but empty texts are left out.
    """
    shown = pd.concat(frames)
    if len(frames) > 1:
        each = pd.concat([frame.assign(synthesis=str(i)) for i, frame in enumerate(frames, start=1)])
        means = each.groupby("measure", sort=False, as_index=False).mean(numeric_only=True)
        gone = [column for column in ("low", "high") if column in means]
        shown = pd.concat([each, means.assign(synthesis="mean", **dict.fromkeys(gone, math.nan))])
        columns = ["synthesis", *columns]
    return shown[[column for column in columns if not (shown[column].isna() | (shown[column] == "")).all()]]


def _of(part: pd.Series[int], whole: pd.Series[int]) -> list[str]:
    return [f"{n:,} of {total:,}" for n, total in zip(part, whole, strict=True)]


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


def _against(result: Disclosure) -> Table:
    """Each measure against original and holdout; of several synthetic tables the mean."""
    last = result.marginal["synthesis"].iloc[-1]
    rows = result.marginal[result.marginal["synthesis"] == last]
    caption = "Original against holdout, percent; the difference with its 95 % interval"
    return Table(
        caption if last != "mean" else f"{caption}; means over the synthetic tables",
        rows[["measure", "original", HOLDOUT, "marginal", "low", "high", "method", "baseline"]],
    )


def _reasons(result: Disclosure) -> Iterator[str]:
    """Why a difference or its interval is undefined, one line a reason."""
    if not result.n_holdout:
        return
    by_reason: dict[str, list[str]] = {}
    for row in result.marginal.to_dict("records"):
        if row["reason"] and (math.isnan(row["low"]) or math.isnan(row["marginal"])):
            by_reason.setdefault(str(row["reason"]), []).append(str(row["measure"]))
    for reason, measures in by_reason.items():
        yield f"{', '.join(dict.fromkeys(measures))}: {reason}"
