"""Why a number is missing: a closed list of codes, as files hold them, and the sentence of each, as people read it."""

from __future__ import annotations

REASONS: dict[str, str] = {
    "no_holdout": "no holdout",
    "nothing_certain": "no synthetic record has WEAP >= tau",
    "certain_unmatched": "no synthetic record with WEAP >= tau has its keys in the table attacked",
    "no_match": "no attacked record has its keys in the synthetic data",
    "unmet": "undefined in original or holdout: no record has its keys in the synthetic table",
    "never_both": "never defined on both sides",
    "no_groups": "no interval: no jackknife groups",
    "group_undefined": "no interval: undefined without one of the jackknife groups",
    "no_spread": "no interval: every jackknife group gives the same value",
    "needs": "needs {}",
    "timed_out": "timed out after {} s",
    "trained_not_asked": "trains classifiers, which takes seconds a run: "
    "'privacy: {{metrics: all}}' in the study file asks for it",
    "not_asked": "not among the privacy metrics that the study file asks for",
    "undefined": "undefined: {}",
    "failed": "failed: {}",
    "nobody_unique": "nobody has keys of their own",
    "nobody_confident": "nobody is guessed with a chance of 0.9 or more",
    "several": "{}",
    "no_refit": "the refit gives no number: {}",
    "coarse": "one record moves it by {} half last digits: few data sets of this size have it to its digits; where it "
    "is within 1 % of its sampling error more digits hardly matter, else give more generations",
    "out_of_time": "the run ended before it stood still: give it more time or generations",
    "conflict": "no data set has it together with {}: correct one of them, or see whether both are of the same records",
    "tension": "the search stood still, and {} pulls against it: what moves one nearer moves the other away; another "
    "seed may do, or fewer digits of one of them",
    "not_sought": "no search is made for it, as no sums over records tell it: it came out as the other numbers left it",
    "stood_still": "the search stood still, other numbers being in the way: another seed may do",
}


def sentence(code: str, detail: str = "") -> str:
    """What a code says, completed by its detail; empty for no code, KeyError for an unknown one."""
    if not code:
        return ""
    template = REASONS[code]
    if "{}" in template:
        return template.format(detail)
    return template.format() + (f" ({detail})" if detail else "")
