"""A paper's table one: several characteristics of people, side by side in groups, as the outputs that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError, did_you_mean
from outrisk.outputs.base import Entry, Names, Output, both
from outrisk.outputs.smooth.compared import CORRECTED, OF_TABLES, Test
from outrisk.outputs.smooth.hypothesis_test import HypothesisTestEntry
from outrisk.outputs.tables.frequencies import FrequenciesEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.protection import UNPROTECTED, Protection
from outrisk.outputs.tables.quantiles import QuantilesEntry
from outrisk.problem.quantile_places import QuantileProgram

_SORTS = ("counts", "means", "medians")  # what a table one has of its variables


class TableOneEntry(Entry):
    """A table one in a study file: how many people are in each group of `by`, and of each of the `variables` the counts
    of its levels, or mean and sd of a number; of `medians` the median and the quartiles, as the `program` has them (see
    `Quantiles`); of numbers in `counts` the counts of their values. `tests`: of which variables, or of all `counts`,
    `means`, `medians`, the p of which test stands beside it. Where `values` name a file, the table there says what it
    has, and `rows` which variable a row is of that is called otherwise.
    """

    positional = ("variables", "by")

    kind: Literal["table_one"]
    variables: Names = ()
    by: str = ""
    medians: Names = ()
    counts: Names = ()
    program: QuantileProgram = "r"
    tests: dict[str, Test] = Field(default_factory=dict)
    continuity: bool = False
    rows: dict[str, str] = Field(default_factory=dict)
    protection: Protection = UNPROTECTED

    @property
    def called(self) -> str:
        """What the names of its outputs begin with."""
        by = f" by {self.by}" if self.by else ""
        return self.name or f"table one{by}" + (f" where {self.where}" if self.where else "")

    def entries(self, codebook: Codebook) -> list[Entry]:
        """The entries of the outputs that it is made of; OutputError where there can be none."""
        names = list(dict.fromkeys([*self.variables, *self.medians, *self.counts]))
        if not names:
            raise OutputError(
                f"output '{self.called}': it names no variables; list them, or name the file of the table in 'values'"
            )
        if self.rows:
            raise OutputError(f"output '{self.called}': 'rows' go with 'values' from a file; leave them out")
        self.check_names(codebook, names)
        found = [self.numbers_of_records()] if self.by else []
        for name in names:
            groups = [self.by] if self.by else []
            sort = "medians" if name in self.medians else "means"
            if name in self.medians:
                more: dict[str, Any] = {
                    "kind": "quantiles",
                    "value": name,
                    "by": groups,
                    "quantiles": (0.25, 0.5, 0.75),
                    "program": self.program,
                }
            elif codebook[name].numeric and name not in self.counts:
                more = {"kind": "magnitudes", "value": name, "by": groups, "statistics": ("mean", "sd")}
            else:
                sort, more = "counts", {"kind": "frequencies", "by": [name, *groups], "protection": self.protection}
            found.append(self.part(name, **more))
            if test := self.test_of(name, sort):
                found.append(self.test(name, test, statistics=("p",)))
        return found

    def test_of(self, name: str, sort: str) -> Test | None:
        """The test of a variable of which means, medians or counts are printed; None where it has none."""
        return self.tests.get(name) or (self.tests.get(sort) if sort not in self.variables else None)

    def check_names(self, codebook: Codebook, names: Sequence[str]) -> None:
        """OutputError where it names what is no variable, or asks for what cannot be of one."""
        tests = {name: test for name, test in self.tests.items() if name not in _SORTS or name in codebook}
        for name in (*names, *self.medians, *self.counts, *tests, *filter(None, [self.by])):
            if name not in codebook:
                near = did_you_mean(name, codebook.names) or f"; variables are {codebook.names}"
                raise OutputError(f"output '{self.called}': no variable '{name}'{near}")
        numbers = [*self.medians, *(name for name, test in tests.items() if test not in OF_TABLES)]
        if no_number := next((name for name in numbers if not codebook[name].numeric), None):
            raise OutputError(f"output '{self.called}': '{no_number}' has levels, and neither mean nor median")
        if (test := self.tests.get("counts")) and "counts" not in codebook and test not in OF_TABLES:
            raise OutputError(f"output '{self.called}': tests: '{test}' is no test of counts; take one of {OF_TABLES}")
        if twice := next((name for name in self.medians if name in self.counts), None):
            raise OutputError(
                f"output '{self.called}': '{twice}' is named under medians and counts; leave it out of one"
            )
        if self.by in names:
            raise OutputError(f"output '{self.called}': '{self.by}' makes the groups; leave it out of the variables")
        if names and (stray := next((name for name in tests if name not in names), None)):
            raise OutputError(f"output '{self.called}': tests: '{stray}' is none of the variables; add it there")
        if self.tests and not self.by:
            raise OutputError(f"output '{self.called}': tests are between groups; say which variable makes them (by)")

    def numbers_of_records(self) -> Entry:
        """How many records are in each group."""
        return self.part("numbers of people", kind="frequencies", by=[self.by], protection=self.protection)

    def test(self, name: str, test: Test, **more: Any) -> Entry:
        """A test of a variable between the groups."""
        given: dict[str, Any] = {"kind": "test", "test": test, "variable": name, "by": [self.by]}
        given["continuity"] = self.continuity and test in CORRECTED
        return self.part(f"{test} test of {name}", **(given | more))

    def part(self, called: str, where: str = "", **more: Any) -> Entry:
        """One of its outputs, of its own records that are `where`."""
        given = {"name": f"{self.called}: {called}", "importance": self.importance, **more}
        given["where"] = both(self.where, where)
        return _ENTRIES[given["kind"]].model_validate(given)

    def build(self, codebook: Codebook, position: int) -> list[Output]:
        """The outputs of this entry, the `position`-th (from 1) of its study."""
        if self.values is not None:
            raise OutputError(
                f"output '{self.called}': values of a table one are a file or a pasted text of it; give others under "
                "outputs of their own (frequencies, magnitudes, quantiles, test)"
            )
        return [output for entry in self.entries(codebook) for output in entry.build(codebook, position)]


_ENTRIES: Mapping[str, type[Entry]] = {
    "frequencies": FrequenciesEntry,
    "magnitudes": MagnitudesEntry,
    "quantiles": QuantilesEntry,
    "test": HypothesisTestEntry,
}
