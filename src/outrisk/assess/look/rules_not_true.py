"""Rules of a study that its records break."""

from __future__ import annotations

from collections.abc import Iterator

from outrisk.assess.look.finding import UNTRUE, Found, named, plural
from outrisk.config import Study
from outrisk.load import records_breaking
from outrisk.microdata import Microdata


def not_true(study: Study, original: Microdata) -> Iterator[Found]:
    """The rules that records break, which are therefore not used, and what follows."""
    rules = study.rules(original.codebook)
    untrue = records_breaking(rules, original)
    if untrue:
        are = "rule of the study is" if len(untrue) == 1 else "rules of the study are"
        what = (
            f"{len(untrue):,} {are} not true of its records, and not used: if people know most of it, risks may read "
            "lower than they are."
        )
        broken = [rule for rule in rules if rule.position in untrue]
        said = named([f"{rule.text} (broken by {plural(untrue[rule.position], 'record')})" for rule in broken])
        advice = "Say the rules so that every record keeps them, correct the records, or leave the rules out."
        yield Found(UNTRUE, False, "all outputs", 0, 0, what, said, advice)
