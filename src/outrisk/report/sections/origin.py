"""Where the report comes from: versions, settings, inputs by digest, and the files it stands beside."""

from __future__ import annotations

from typing import Any

from outrisk.records.results import Results
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_INPUTS = {"study": "Study file", "data": "Data", "holdout": "Holdout", "codebook": "Codebook", "function": "Function"}
_FILES = (
    (("study.yaml", "codebook.yaml"), "the study as carried out, and the codebook used"),
    (("manifest.json", "log.jsonl"), "versions, seeds, digests, status; what happened when"),
    (("decision.json", "decision.md"), "the verdict with what it rests on; the same for the log of decisions"),
    (("findings.csv",), "what the outputs say outright"),
    (("marginal.csv", "people.csv"), "the marginal risk by measure and key set; by person, in counts"),
    (("contributions.csv",), "what each output adds"),
    (("matched.csv",), "each released number beside its refit"),
    (("trajectory.csv", "snapshots.csv"), "the error generation by generation; error and risk at points of each run"),
    (("risk.csv", "risk.json"), "every measure for every key set; the averages with their intervals, extrapolations"),
    (("differencing.csv",), "pairs of outputs that can be subtracted from each other, and the groups left"),
    (("measures.csv",), "the suite of measures for each run"),
    (("over_runs.csv",), "their means over runs, with intervals, for each fold and over the folds of a level"),
    (("figures/",), "the figures of both pages as files"),
    (("recurring.csv",), "records that recur from run to run, and whether they are in the data"),
    (
        ("register.csv", "reliability.csv", "register.json"),
        "what an intruder with a register of everybody's keys guesses",
    ),
    (("synthetic/",), "the synthetic data set of each run"),
)


def content(results: Results) -> dict[str, Any]:
    """Settings, inputs, and files that are there."""
    there = [([name for name in names if (results.directory / name).exists()], what) for names, what in _FILES]
    return {
        "manifest": results.manifest,
        "settings": _settings(results),
        "inputs": [(_INPUTS.get(source.what, source.what), source) for source in results.manifest.inputs],
        "study_file": next((each.name for each in results.manifest.inputs if each.what == "study"), "study.yaml"),
        "files": [(names, what) for names, what in there if names],
    }


def _settings(results: Results) -> list[tuple[str, str]]:
    """The parts of the study that say how it was carried out; paths and released values are not among them."""
    parts = [(name, results.study.get(name)) for name in ("privacy", "evolve", "study")]
    return [(name, "; ".join(formats.flat(found, set()))) for name, found in parts if isinstance(found, dict)]


SECTION = Section("provenance", "Provenance", content, asset("study/provenance.html"))
