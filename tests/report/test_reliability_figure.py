"""The reliability figure has a point for each range and side with people enough, and no words that overlap."""

from outrisk.report.figures.reliability_figure import reliability_figure

BINS = [
    {"original": (40, 0.55, 0.6), "holdout": (60, 0.56, 0.5)},
    {"original": (300, 0.98, 1.0), "holdout": (2, 0.97, 0.0)},
]


def test_a_point_for_each_range_with_people_enough():
    both = reliability_figure(BINS)
    enough = reliability_figure([{**each, "holdout": (60, 0.56, 0.5)} for each in BINS])
    alone = reliability_figure([{"original": each["original"]} for each in BINS])
    assert "people not in the data" in both.body and "people not in the data" not in alone.body
    marks = [len(each.body) for each in (alone, both, enough)]
    assert marks[0] < marks[1] < marks[2]
    assert both.body == reliability_figure(BINS).body  # the same bytes twice
