"""Threads, processes and a dask cluster: the same bytes; and what is told where one of them is not there."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from threading import Event

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from command import outrisk, refused, write_study
from timeless import contents

import outrisk as api
from outrisk.api import studies
from outrisk.assess import backends
from outrisk.errors import ConfigError
from outrisk.progress import Progress
from outrisk.side_by_side.forked import Forked

OWN = """from dataclasses import dataclass

import numpy as np


@dataclass
class Mean:
    value: float


def mean_of(frame):
    return [Mean(float(np.mean(frame["age"]))).value]
"""
CUSTOM = {
    "kind": "custom", "function": "own.py:mean_of", "variables": ["age"], "labels": ["mean of age"], "decimals": 2,
}  # fmt: skip
RUNS = {"study": {"runs": 2, "folds": [1, 2]}, "privacy": {"metrics": []}}


def alike(place):
    """The files but for the manifest, which says how many workers there were."""
    return {name: content for name, content in contents(place).items() if name != "manifest.json"}


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(processes=True, silence_logs=50, **options) as found:
        yield found


@pytest.mark.slow
def test_the_same_bytes_on_threads_processes_and_a_cluster(tmp_path, capsys, cluster):
    path = write_study(tmp_path, RUNS)
    ways = {
        "one": ("--workers", 1),
        "threads": ("--backend", "threads", "--workers", 2),
        "fork": ("--backend", "fork", "--workers", 2),
        "loky": ("--backend", "loky", "--workers", 2),
        "dask": ("--backend", "dask", "--address", cluster.scheduler_address, "--workers", 2),
    }
    for name, options in ways.items():
        code, _, err = outrisk(capsys, "assess", path, "--out", tmp_path / name, "--quiet", *options)
        assert code == 0, (name, err)
    first = alike(tmp_path / "one")
    assert len([name for name in first if name.startswith("synthetic/")]) == 6
    for name in ways:
        pages = {".html", ".md"}  # say how many workers there were
        found = alike(tmp_path / name)
        assert found.keys() == first.keys()
        assert not [at for at in first if found[at] != first[at] and Path(at).suffix not in pages], name


@pytest.mark.slow
def test_a_session_has_the_same_backends():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {"age": rng.integers(20, 30, 200), "sex": rng.integers(0, 2, 200), "ill": rng.integers(0, 2, 200)}
    )
    share = api.Custom(lambda frame: [frame["ill"].mean()], variables=["ill"], labels=["share ill"], decimals=2)
    asked = {"keys": ["age", "sex"], "target": "ill", "runs": 2, "intruder": ["codebook"], "quiet": True}
    first, other = (
        api.assess(data, [api.Logit("ill ~ sex"), share], backend=backend, workers=2, **asked)
        for backend in ("threads", "fork")
    )
    assert (first.released["refit"] == other.released["refit"]).all()
    assert first.key_sets.equals(other.key_sets)
    with pytest.raises(ConfigError, match=r"^backend is 'cluster': it must be one of"):
        api.assess(data, [api.Logit("ill ~ sex")], backend="cluster", **asked)


@pytest.mark.slow
def test_a_function_of_the_study_travels_to_other_processes(tmp_path, capsys):
    (tmp_path / "own.py").write_text(OWN)
    path = write_study(tmp_path, RUNS | {"outputs": [CUSTOM]})
    ways, refits = ("threads", "fork", "loky"), {}
    for backend in ways:
        options = ("--out", tmp_path / backend, "--quiet", "--trust", "--backend", backend, "--workers", 2)
        code, _, err = outrisk(capsys, "assess", path, *options)
        assert code == 0, (backend, err)
        refits[backend] = json.loads((tmp_path / backend / "manifest.json").read_text())["slow"][0]["refits"]
    first, *others = (alike(tmp_path / backend) for backend in ways)
    assert [name for name in first if name.startswith("synthetic/")]
    for other in others:
        assert {name: first[name] for name in first if Path(name).suffix == ".csv"} == {
            name: other[name] for name in other if Path(name).suffix == ".csv"
        }
    if sys.platform == "linux":
        assert refits["fork"] >= refits["threads"] > refits["loky"]  # there, those of this process alone


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_forked_processes_do_what_threads_do(tmp_path, monkeypatch):
    """Runs, what each output adds, guesses with a register: all of it elsewhere, and told here."""
    path = write_study(tmp_path, {"study": {"runs": 2, "folds": [1, 2]}, "contributions": {"leave_one_out": True}})
    asked, heard = [], []
    carry_out = Forked.carry_out
    monkeypatch.setattr(
        Forked, "carry_out", lambda own, work, *rest: (asked.append(work.__name__), carry_out(own, work, *rest))[1]
    )
    monkeypatch.setattr(Progress, "heard", lambda own, name, number, share: heard.append((name, number, share)))
    found = {}
    for name in ("threads", "fork"):
        run = studies.prepare_study(path, tmp_path / name, False, 2, None, backend=name)
        with run:
            studies.carry_out(run, Event(), Console(quiet=True))
            studies.write_study(run)
        found[name] = alike(tmp_path / name)
        if name == "threads":
            assert not asked
            in_threads = sorted(heard)
            heard.clear()
    assert asked == ["_performed", "_evolved", "_guessed"]
    assert sorted(heard) == in_threads and len(heard) > 6
    pages = {".html", ".md"}  # say how much memory it took
    assert found["threads"].keys() == found["fork"].keys()
    assert not [
        at for at, content in found["fork"].items() if content != found["threads"][at] and Path(at).suffix not in pages
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_fork_is_for_more_than_one_run_whose_code_is_compiled(tmp_path, monkeypatch):
    path = write_study(tmp_path, RUNS)

    def forked(workers, compiled=True):
        monkeypatch.setattr(backends, "has_compiled", lambda *of: compiled)
        run = studies.prepare_study(path, tmp_path / "run", False, workers, None, backend="fork")
        run.fork()
        found = run.backend.forked
        run.backend.close()
        assert run.backend.forked is None
        return found

    assert forked(2) is not None
    assert forked(1) is None and forked(2, compiled=False) is None
    monkeypatch.setattr(os, "fork", lambda: (_ for _ in ()).throw(BlockingIOError(11, "no more processes")))
    assert forked(2) is None
    monkeypatch.setattr(backends.sys, "platform", "win32")
    with pytest.raises(ConfigError, match="'fork', which is safe on Linux alone; give threads"):
        backends.connect("fork", None)
    assert backends.connect(None, None).name == "threads"


def test_processes_run_nothing_that_lies_in_the_current_folder(tmp_path):
    (tmp_path / "numpy.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')")
    code = """import os
import joblib
from outrisk.assess.backends import Backend, _placed
with _placed(Backend("loky")):
    print(joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(number) for number in (-1, -2)))
print(os.environ.get("PYTHONSAFEPATH"))
"""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    command = [sys.executable, "-P", "-c", code]
    said = subprocess.run(command, cwd=tmp_path, env=own, check=True, capture_output=True, text=True).stdout
    assert said == "[1, 2]\nNone\n"
    assert not (tmp_path / "mark").exists()


def test_a_cluster_that_is_not_there(tmp_path, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(backends, "_ANSWER", 0.5)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        path = write_study(tmp_path, RUNS)
        message = refused(capsys, "assess", path, "--out", tmp_path / "run", "--backend", "dask", "--address", address)
    assert f" address {address}: no dask scheduler answers there" in message
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match=r"^address 5: no dask scheduler answers there"):
        backends.connect("dask", 5)


def test_a_cluster_of_other_code_is_refused(tmp_path, capsys, monkeypatch, cluster):
    monkeypatch.setattr(backends, "versions", lambda: {"outrisk": "9.9"})
    path = write_study(tmp_path, RUNS)
    options = ("--backend", "dask", "--address", cluster.scheduler_address)
    assert "has other code: outrisk is 0.1.0, here 9.9" in refused(capsys, "assess", path, *options)


def test_what_is_not_installed(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    path = write_study(tmp_path, RUNS)
    message = refused(capsys, "assess", path, "--backend", "dask", "--address", "tcp://127.0.0.1:1")
    assert " backend dask is not installed; pip install 'outrisk[dask]'" in message


@pytest.mark.parametrize("options", [("--backend", "dask"), ("--backend", "loky", "--address", "tcp://x:1")])
def test_an_address_goes_with_dask(tmp_path, capsys, options):
    assert "go together" in refused(capsys, "assess", write_study(tmp_path, RUNS), *options)


def test_a_backend_that_is_none(tmp_path, capsys):
    assert "'threads', 'loky', 'dask'" in refused(capsys, "assess", write_study(tmp_path, RUNS), "--backend", "mpi")
