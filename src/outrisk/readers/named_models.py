"""What the words about a table of a document say of its models: kinds, weights, another scale, the response."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from outrisk.errors import OutputError
from outrisk.outputs.regression.release import Kind
from outrisk.readers.coefficients import Coefficients

_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\bprobit\b", ("probit", "oprobit")),
    (r"\blog(?:it|istic)\b", ("logit", "ologit", "mnlogit")),
    (r"\bols\b|\bleast[ -]squares\b|(?<!log-)(?<!log )\blinear (?:probability|regression)", ("ols", "iv", "mixed")),
    (r"\bpoisson\b", ("poisson",)),
    (r"\bnegative[ -]binomial\b", ("negbin",)),
    (r"\bcox\b|\bproportional[ -]hazards?\b", ("cox",)),
    (r"\bquantile regression|\bmedian regression", ("quantreg",)),
)
_OTHER_SCALE = re.compile(
    r"(?i)\bstandardi[sz]ed\b|\bmarginal effects?\b|\belasticit|"
    r"\bbeta coefficients?\b|\bames?\b|\bmultiplied by 10+\b|[×x] ?10+\b"
)
_WEIGHTED = re.compile(r"(?i)\bweighted\b|\b(?:survey|sampling|probability) weights\b")
_UNWEIGHTED = re.compile(r"(?i)\b(?:un|not |non-?)weighted\b|\b(?:no|without)(?: \w+)? weights\b")
_ROBUST = re.compile(
    r"(?i)\brobust\b|heteroske|\bhc\d\b|bootstrap|jackknife|\blineari[sz]ed\b|newey|driscoll|\bsandwich\b|"
    r"\bwhite(?:'s)? (?:standard|s\.?e)"
)
_RESPONSE = re.compile(r"[A-Za-z_][\w.]*(?:\([\w.]+\))?")
_ESTIMATES = re.compile(r"(?<=\S)[ ,:]+[ac]?(?:OR|HR|IRR|RR|PR)\b.*$")  # behind the name, in the same head
_NO_RESPONSE = re.compile(
    r"(?i)m(?:odels?|od)?[._]?\d*|b|beta|coef\w*|estimates?|[ac]?(?:or|hr|irr|rr|pr)s?|full|final|base\w*|all|total|"
    r"overall|crude|adjusted|unadjusted|pooled|main|[ivx]+|(?:uni|bi|multi)varia\w+|est\.?|spec\w*|variables?|glm|lm|gee"
)


def kinds_named(text: str) -> tuple[Kind, ...]:
    """The kinds of regression that words name; () where they name none."""
    found = [kind for words, kinds in _KINDS if re.search(words, text.casefold()) for kind in kinds]
    return tuple(dict.fromkeys(found))  # type: ignore[arg-type]


def response_named(heads: Sequence[str]) -> str:
    """The response that lines above a column name, as programs write it there; '' where none looks like one."""
    for head in reversed(heads):
        text = re.sub(r"(?i)^dependent variable:?\s*|\s+[IVX]+$", "", head.strip()).strip("`'\" ")
        text = _ESTIMATES.sub("", text)
        if _RESPONSE.fullmatch(text) and not _NO_RESPONSE.fullmatch(text) and not kinds_named(text):
            return text
    return ""


def as_said(found: Coefficients, caption: str, said: str, place: str) -> Coefficients:
    """The regression of a table with what its caption, and all that is `said` about it, tell of its kind and weights;
    OutputError where its estimates are no b.
    """
    if other := _OTHER_SCALE.search(said):
        raise OutputError(f"{place}: its estimates are of another scale ({other[0]}), which no output has; write b")
    unweighted = _UNWEIGHTED.search(said) is not None
    weighted = found.weighted or (not unweighted and found.survey is None and _WEIGHTED.search(said) is not None)
    kinds = found.kinds or (() if found.kind else kinds_named(caption))
    clusters = re.search(r"(?i)\bcluster", said) is not None
    robust = "robust" if _ROBUST.search(said) else "by clusters" if clusters else ""
    if not found.robust:
        found = replace(found, robust=robust, clustered=found.clustered or clusters)
    return replace(found, words=said, kinds=kinds, weighted=weighted, unweighted=found.unweighted or unweighted)
