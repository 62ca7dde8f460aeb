"""Look at what released outputs say outright, without an evolution."""

from __future__ import annotations

from pathlib import Path

from outrisk.assess.look import Finding, in_a_sentence, look
from outrisk.config import read_study
from outrisk.errors import ConfigError
from outrisk.load import load_study_data


def look_at_study(path: Path, inside: bool = False, trust: bool = False) -> tuple[str, list[Finding]]:
    """What the outputs of a study say outright: a sentence, and the findings, the worst first.

    `inside`: cells that only a subtraction of two outputs shows are named too. `trust`: the study's own functions may
    be run. ConfigError for a study without data.
    """
    study = read_study(path, trust=trust)
    if study.file.data is None:
        raise ConfigError(f"{path}: 'data' is missing; add it: what released numbers say is read off with the records")
    original = load_study_data(study).original
    outputs = study.outputs(original.codebook)
    findings = look(outputs, original, study.file.appetite, study.file.target, inside)
    return in_a_sentence(findings, len(outputs)), findings
