import json

import pandas as pd
import pytest
from run_directory import write

from outrisk.assess.look.differences import COLUMNS
from outrisk.errors import ConfigError
from outrisk.report.pages.study_page import render
from outrisk.report.sections.isolated import read

ROW = dict(
    zip(
        COLUMNS,
        [
            "women",
            "women, <some>",
            "educ 9",
            41,
            "age+affair",
            3,
            2,
            10,
            4,
            0,
            "age=22, affair=1: 3; age=27, affair=0: 1",
            "",
        ],
        strict=True,
    )
)


def with_rows(directory, rows):
    pd.DataFrame(rows, columns=COLUMNS).to_csv(directory / "differencing.csv", index=False)
    return directory


def test_the_report_shows_the_group(tmp_path):
    text = render(with_rows(write(tmp_path), [ROW])).read_text()
    assert "isolates" in text
    assert "age=22, affair=1: 3" in text
    assert "women, &lt;some&gt;" in text
    assert (
        "leaves 41 records (educ 9); of the 3 occupied cells of their table by age, affair, 2 hold fewer than 10"
        in text
    )


@pytest.mark.parametrize("rows", [None, []])
def test_nothing_is_said_without_such_pairs(tmp_path, rows):
    directory = write(tmp_path)
    if rows is not None:
        with_rows(directory, rows)
    assert "isolates" not in render(directory).read_text()


def test_a_large_group_is_no_warning_and_many_cells_are_cut_short(tmp_path):
    large = ROW | {"records": 500, "below": 0, "small_cells": ""}
    assert read(with_rows(tmp_path, [large])).warning == ""
    many = ROW | {"small_cells": "; ".join(f"age={k}: 1" for k in range(30))}
    assert read(with_rows(tmp_path, [many])).rows[0].shown.endswith("age=11: 1; and 18 more")
    found = read(with_rows(tmp_path, [ROW, *[many] * 59]))
    assert (len(found.rows), found.left_out) == (40, 20)
    assert "59 further pairs" in found.warning


def test_a_broken_file(tmp_path):
    (tmp_path / "differencing.csv").write_text("larger,smaller\na,b\n")
    with pytest.raises(ConfigError, match=r"differencing\.csv is broken") as caught:
        read(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_report_says_what_was_slow(tmp_path):
    manifest = write(tmp_path) / "manifest.json"
    document = json.loads(manifest.read_text()) | {"slow": [{"output": "Cox", "refits": 1200, "seconds": 20.0}]}
    manifest.write_text(json.dumps(document))
    assert "“Cox” has no additive form" in render(tmp_path).read_text()
