"""A command line in this process, and a small study for it."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import yaml

from outrisk.cli.commands import run

STUDY = {
    "name": "small",
    "data": {"path": "small.csv"},
    "codebook": "small.codebook.yaml",
    "outputs": [
        {"kind": "frequencies", "by": ["area", "ill"]},
        {"kind": "logit", "formula": "ill ~ age + area", "decimals": 2},
    ],
    "keys": ["age", "area", "sex"],
    "target": "ill",
    "evolve": {"generations": 3},
    "study": {"runs": 1, "folds": [1, 2]},
}
FINE = [STUDY["outputs"][0], STUDY["outputs"][1] | {"decimals": 7}]  # no run meets the last digits of these
CODEBOOK = {
    "variables": {
        "age": {"kind": "integer", "min": 0, "max": 4},
        "area": {"kind": "categorical", "levels": ["n", "s", "w"]},
        "sex": {"kind": "integer", "min": 1, "max": 2},
        "ill": {"kind": "categorical", "levels": ["no", "yes"]},
    }
}


def records(n=160, seed=5):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 5, n),
            "area": rng.choice(["n", "s", "w"], n),
            "sex": rng.integers(1, 3, n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )


def write_study(folder, changes=None, codebook=None, data=None):
    """The small study, with changes, in a folder; returns its path."""
    document = STUDY | (changes or {})
    (folder / "small.yaml").write_text(
        yaml.safe_dump({key: value for key, value in document.items() if value is not None}, sort_keys=False)
    )
    variables = CODEBOOK["variables"] | (codebook or {})
    (folder / "small.codebook.yaml").write_text(yaml.safe_dump({"variables": variables}, sort_keys=False))
    (records() if data is None else data).to_csv(folder / "small.csv", index=False)
    return folder / "small.yaml"


def outrisk(capsys, *arguments):
    """Exit code, stdout and stderr of a command line; the line of every minute is left out, as machines differ."""
    capsys.readouterr()
    with patch("outrisk.progress.EVERY", 3600.0):
        code = run([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def refused(capsys, *arguments):
    """The one line of a refusal."""
    code, out, err = outrisk(capsys, *arguments)
    assert code == 2, err
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("outrisk: ")
    assert "Traceback" not in err
    return err
