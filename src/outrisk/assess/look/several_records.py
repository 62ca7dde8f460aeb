"""Records that look as if several were of one person or household, where the study does not say so."""

from __future__ import annotations

from collections.abc import Iterator

from outrisk.assess.look.finding import SEVERAL, Found
from outrisk.whose import Alike


def several_records(alike: Alike | None) -> Iterator[Found]:
    """The column that tells people or households apart, as it seems, and what follows if it does."""
    if alike is not None:
        what = (
            f"Records with the same '{alike.name}' ({alike.values:,} values, {alike.records:,} records) have the same "
            f"{', '.join(alike.same)}, and the study does not say whose they are: if they are of one person or "
            "household, people are in their own holdout, cells of few people pass for cells of many, and risks may "
            "read lower than they are."
        )
        advice = f"If they are, add to the study: data: {{person: {alike.name}}}, or {{household: {alike.name}}}."
        yield Found(SEVERAL, False, "all outputs", 0, 0, what, "", advice)
