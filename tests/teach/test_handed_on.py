"""What goes with teaching data: scripts with labels, pictures, and a relation that is chance."""

import re

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.teach.pictures import bars, chance_relation
from outrisk.teach.scripts import r_script, stata_script

CODEBOOK = Codebook(
    (
        Variable("sex", "categorical", ("1", "2"), label="Sex", descriptions=("male", 'the "other" $sex `x')),
        Variable("area", "categorical", ("n", "01"), missing=True),
        Variable("my age", "integer", tuple(range(100)), label="Age"),
        Variable("job", "categorical", ("1", "2", "3"), descriptions=("yes", "yes", "")),
    )
)


def test_a_do_file_labels_what_stata_reads():
    lines = stata_script(CODEBOOK, "synthetic/x_synthetic_1.csv").splitlines()
    assert lines[1].startswith('import delimited "synthetic/x_synthetic_1.csv", varnames(1) case(preserve)')
    assert lines[1].endswith(" stringcols(2) clear")
    assert 'label define labels1 1 `"male"\', add' in lines
    assert 'label define labels1 2 `"the "other" \\$sex \'x"\', add' in lines
    assert "label values sex labels1" in lines and 'label variable sex `"Sex"\'' in lines
    assert 'replace coded2 = 2 if area == `"01"\'' in lines and "rename coded2 area" in lines
    assert 'label define labels4 1 `"yes (1)"\', add' in lines and 'label define labels4 3 `"3"\', add' in lines
    assert not any("age" in line for line in lines[2:])  # Stata changes its name


def test_an_r_script_makes_factors_with_labels():
    lines = r_script(CODEBOOK, "x.csv").splitlines()
    assert 'colClasses = c("sex" = "character", "area" = "character", "job" = "character"))' in lines[1]
    assert 'data[["area"]] <- factor(data[["area"]], levels = c("n", "01"), labels = c("n", "01"))' in lines
    assert 'labels = c("male", "the \\"other\\" $sex `x"))' in lines[2]
    assert 'attr(data[["my age"]], "label") <- "Age"' in lines


def records(n, seed):
    rng = np.random.default_rng(seed)
    return Microdata(
        CODEBOOK, np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)
    )


def test_the_bars_are_all_records():
    found = {each.name: each for each in bars(records(500, 1))}
    assert all(sum(each.counts) == 500 for each in found.values())
    assert found["area"].labels == ("n", "01", "Missing")
    assert len(found["my age"].counts) == 20 and found["my age"].labels[:2] == ("0 to 4", "5 to 9")


def test_the_example_is_the_pair_that_looks_most_like_a_finding():
    copies = [records(800, seed) for seed in (2, 3)]
    found = chance_relation(copies, [("sex", "area"), ("sex", "job"), ("area", "job")])
    assert found.tested == 3 and len(found.p_values) == 2
    by_hand = {}
    for a, b in ((0, 3),):
        table = np.zeros((2, 3))
        np.add.at(table, (copies[0].codes[:, a], copies[0].codes[:, b]), 1)
        by_hand[a, b] = chi2_contingency(table, correction=False).pvalue
    one = chance_relation(copies, [("sex", "job")])
    assert one.p_values[0] == pytest.approx(by_hand[0, 3])
    assert found.p_values[0] <= one.p_values[0]
    rows = copies[0].frame()
    level = re.match(r"\S+", one.value).group()
    group = rows[rows["sex"] == re.match(r"\S+", one.group).group()]
    assert one.share == pytest.approx((group["job"] == level).mean())
    assert one.usual == pytest.approx((rows["job"] == level).mean())
    assert chance_relation(copies, []) is None
