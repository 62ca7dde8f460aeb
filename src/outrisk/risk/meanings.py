"""What each measure counts, in a few words: beside its name wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping

from outrisk.risk.privacy.registry import METRICS

_LOOKUPS = {
    "0CAP": "chance that the target is right, drawn from synthetic records with the keys; nobody with them counts 0",
    "ICAP": "as 0CAP, of the people whose keys some synthetic record has",
    "GCAP": "as 0CAP, but the nearest synthetic records where none has the keys",
}
_TIES = {"counted": "ties count as right", "shared": "ties share", "first": "the first of ties is taken"}
_CLASSIFIERS = {
    "fr_nn": "the most frequent target of the nearest synthetic records",
    "ensemble": "the vote of several classifiers",
    "zero_rule": "always the most frequent target, without looking at keys",
    "uniform": "any target alike, without looking at keys",
}
MEANINGS: Mapping[str, str] = {
    "UiO": "alone in the original with these keys",
    "UiS": "synthetic records alone with their keys",
    "UiOiS": "alone in the original with these keys, and some synthetic record has them",
    "repU": "alone with these keys in the original and in the synthetic data (replicated unique)",
    "Dorig": "keys determine the target in the original",
    "Dsyn": "synthetic records whose keys determine their target",
    "iS": "keys occur in the synthetic data",
    "DiS": "synthetic records with these keys all claim one target",
    "DiSCO": "synthetic records with these keys all claim one target, and it is right",
    "DiSDiO": "as DiSCO, and the original's own keys determine the target too",
    "baseCAPd": "chance of guessing the target from its distribution",
    "CAPd": "chance of the right target within the original, by the keys",
    "CAPs": "chance of the right target within the synthetic data, by the keys",
    "DCAP": "chance of the right target, drawn from synthetic records with these keys; nobody with them counts 0",
    "DCAP_synthpop": "chance of the right target, drawn from synthetic records with these keys; without any 0",
    "TCAP": "of those whose keys the synthetic data have: DiSCO (synthpop's TCAP)",
    "TCAP_synthpop": "DiSCO, of the people whose keys the synthetic data have (not the TCAP of Taub and Elliot)",
    "TCAP_undefined": "targets claimed with certainty that are right, of the people to whom one is claimed",
    "TCAP_zero": "as TCAP, people to whom nothing is claimed count 0",
    "max_denom": "original records behind the largest cell of DiSCO",
    "mean_denom": "original records behind a cell of DiSCO, on average",
    **_LOOKUPS,
    **{
        f"R_{name}_{tie}": f"as {name}, guessing the most frequent target; {words}"
        for name in _LOOKUPS
        for tie, words in _TIES.items()
    },
    **{name: f"targets guessed rightly: {words}" for name, words in _CLASSIFIERS.items()},
    **{metric.row_name: metric.measures for metric in METRICS.values()},
}


def meaning_of(measure: str, family: str = "") -> str:
    """What a measure counts; of a classifier, that it guesses; empty for a measure from outside the package."""
    if measure in MEANINGS:
        return MEANINGS[measure]
    return "targets guessed rightly by this classifier" if family == "attacks" else ""
