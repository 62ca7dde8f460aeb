"""Which of several regressions in one text an output is of; summaries of statsmodels one after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.readers import statsmodels_summary
from outrisk.readers.remarks import kept
from outrisk.readers.same_model import may_be_of
from outrisk.readers.source import Source

_TITLE = re.compile(
    r"^[ \t]*(?:Results: \S.*|[A-Z][\w .-]* Results)[ \t]*$|<table[^>]*>\s*<caption>[^<]*\bResults\b", re.M
)
_RESPONSE = re.compile(r"Dep(?:\.|endent) Variable:\W*(?:<[^>]*>\s*)*([\w.]+)")


def one_of_several(texts: Sequence[str], is_of: Mapping[str, bool], number: int | None, listed: str, place: str) -> str:
    """The regression `number` of several, from 1, or the only one that may be the output's (`is_of`, by text);
    OutputError with a list of them where none, or several, are.
    """
    if number is not None and not 1 <= number <= len(texts):
        raise OutputError(f"{place}: it has {len(texts)} regressions, and no regression {number} ({listed})")
    fitting = [texts[number - 1]] if number else [each for each in texts if is_of[each]]
    if len(set(fitting)) != 1:
        what = f"{len(fitting)} that may be" if fitting else "none that is"
        raise OutputError(
            f"{place}: it has {len(texts)} regressions, {what} the output's; say which behind the file's name, as in "
            f"'...#2', or paste it alone ({listed})"
        )
    return fitting[0]


def summary_among(source: Source, entry: FormulaEntry, codebook: Codebook, place: str, number: int | None) -> Source:
    """The summary of statsmodels that is an output's, of several in a text or a page; else the source itself."""
    if source.sheets or source.chosen or source.document:
        return source
    starts = [found.start() for found in _TITLE.finditer(source.text)]
    parts = [source.text[at:end] for at, end in pairwise([*starts, len(source.text)])]
    texts = [each for each in parts if statsmodels_summary.recognises(replace(source, text=each))]
    if len(texts) < 2:
        return source
    is_of = dict[str, bool]()
    with kept():
        for text in texts if number is None else ():
            is_of[text] = may_be_of(replace(source, text=text), entry, codebook, statsmodels_summary.read)
    listed = "; ".join(f"{at}: {_words(text)}" for at, text in enumerate(texts[:20], 1))
    return replace(source, text=one_of_several(texts, is_of, number, listed, place))


def _words(text: str) -> str:
    title, response = re.sub("<[^>]*>", " ", text.strip().split("\n")[0]), _RESPONSE.search(text)
    count = re.search(r"No\. Observations:\W*(?:<[^>]*>\s*)*(\d+)", text)
    return f"{' '.join(title.split())} of {response[1] if response else '?'}" + (f", n = {count[1]}" if count else "")
