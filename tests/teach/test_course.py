import sys
from contextlib import closing
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import EvolveError
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, read_rules, released
from outrisk.problem.refit import Refit
from outrisk.teach.course import Copy, Course, fork_copies, make_copies
from outrisk.teach.handout import agreement, check_files, reproduced_rows
from outrisk.teach.marked import write_marked

CODEBOOK = Codebook(
    (
        Variable("age", "integer", (5, 15, 25, 35)),
        Variable("status", "categorical", ("single", "married")),
        Variable("town", "categorical", ("a", "b", "c")),
    )
)
OUTPUTS = (Frequencies(CODEBOOK, "t", ("status", "town")), Frequencies(CODEBOOK, "age", ("age",)))
VALUES = ([10, 20, 30, 15, 25, 20], [15, 20, 45, 40])


def course(copies=1, **changes):
    settings = preset("fast", generations=60)
    numbers = tuple(released(output, values) for output, values in zip(OUTPUTS, VALUES, strict=True))
    rules = read_rules(CODEBOOK, ["age < 16 implies status == 'single'", "town != 'c' or age > 5"])
    parts = {
        "codebook": CODEBOOK,
        "released": numbers,
        "n_records": 120,
        "rules": rules,
        "settings": settings,
        "seed": 3,
    }
    return Course(**parts | {"copies": copies} | changes)


def copies_of(made):
    return {copy.number: copy for copy in made}


def test_copies_reproduce_the_numbers_keep_the_rules_and_differ():
    made = copies_of(make_copies(course(3), workers=2))
    assert sorted(made) == [1, 2, 3]
    for copy in made.values():
        assert len(copy.data) == 120
        assert copy.stop == "matched"
        assert not any(rule.broken(copy.data) for rule in course().rules)
        for output, values in zip(OUTPUTS, VALUES, strict=True):
            assert output.refit(copy.data).tolist() == values
    assert (made[1].data.codes != made[2].data.codes).any()
    assert (made[2].data.codes != made[3].data.codes).any()


def test_a_copy_depends_on_seed_and_number_alone():
    made = copies_of(make_copies(course(3), workers=2))
    again = copies_of(make_copies(course(2), workers=1))
    assert (again[2].data.codes == made[2].data.codes).all()
    other = copies_of(make_copies(course(1, seed=4), workers=1))
    assert (other[1].data.codes != made[1].data.codes).any()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_forked_processes_make_the_same_copies_and_tell_how_far_they_are(monkeypatch):
    monkeypatch.setattr("outrisk.side_by_side.forked.active_count", lambda: 1)  # whatever other tests have left
    by_threads, of, told = copies_of(make_copies(course(3), workers=1)), course(3), []
    forked = fork_copies(of, 2)
    assert forked is not None
    with closing(forked):
        made = copies_of(make_copies(of, 2, None, lambda *heard: told.append(heard), forked))
    assert sorted(made) == [1, 2, 3]
    for number, copy in made.items():
        assert copy.data.codebook is of.codebook
        assert (copy.data.codes == by_threads[number].data.codes).all()
        assert (copy.stop, copy.generations) == (by_threads[number].stop, by_threads[number].generations)
        assert [generation for at, generation, _ in told if at == number] == list(range(copy.generations + 1))
    assert {share for _, generation, share in told if generation == 0} != {1.0}
    assert fork_copies(of, 1) is None and fork_copies(course(1), 2) is None


def test_a_halted_copy_is_left_out():
    halt = Event()
    halt.set()
    assert list(make_copies(course(2), 1, halt)) == []


def written(folder: Path, data):
    path = folder / "synthetic_1.csv"
    write_marked(data, path, {})
    return [path]


def test_written_files_are_checked(tmp_path):
    data = next(make_copies(course(), 1)).data
    facts, rows = check_files(course(), Copy(1, data, "matched", 1, 0.1), written(tmp_path, data))
    assert (facts.matched, facts.numbers, facts.broken) == (10, 10, (0, 0))
    assert [row.refit for row in rows] == [*VALUES[0], *VALUES[1]]
    changed = Microdata(CODEBOOK, data.codes[::-1].copy())
    with pytest.raises(EvolveError, match="copy 1 reads back differently"):
        check_files(course(), Copy(1, changed, "matched", 1, 0.1), written(tmp_path, data))
    codes = data.codes.copy()
    codes[7] = [0, 1, 0]  # married at five
    broken = Microdata(CODEBOOK, codes)
    with pytest.raises(EvolveError, match=r"copy 1 breaks \[rules 1\]"):
        check_files(course(), Copy(1, broken, "matched", 1, 0.1), written(tmp_path, broken))


@pytest.mark.parametrize(
    ("difference", "decimals", "expected"),
    [
        (0.0, 4, 4),
        (0.00005, 4, 4),
        (-0.00006, 4, 3),
        (0.004, 4, 2),
        (0.4, 4, 0),
        (0.6, 4, np.nan),
        (0.0, 0, 0),
        (1.0, 0, np.nan),
        (np.nan, 4, np.nan),
    ],
)
def test_agreement(difference, decimals, expected):
    assert agreement(difference, decimals) == pytest.approx(expected, nan_ok=True)


def test_what_was_withheld_has_no_row():
    known = (
        released(OUTPUTS[0], [10, 20, 1, -np.inf, 25, 20], [10, 20, 40, np.inf, 25, 20]),
        released(OUTPUTS[1], VALUES[1]),
    )
    numbers = np.array([10, 21, 41, 3, 25, np.nan]), np.array(VALUES[1])
    rows = list(
        reproduced_rows(
            2,
            [
                Refit(one, np.zeros((1, len(CODEBOOK.names)), np.uint16), each)
                for one, each in zip(known, numbers, strict=True)
            ],
        )
    )
    assert [row.label for row in rows[:5]] == [OUTPUTS[0].labels[k] for k in (0, 1, 2, 4, 5)]
    assert [row.matched for row in rows[:5]] == [True, False, False, True, False]
    assert [row.agrees for row in rows[:5]] == pytest.approx([0, np.nan, np.nan, 0, np.nan], nan_ok=True)
    assert {row.copy for row in rows} == {2}
