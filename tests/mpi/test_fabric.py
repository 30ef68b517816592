"""Weft's own algorithms over MPI: one rank a process, started by each library's mpirun."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mpirun import LIBRARIES, found, start
from ports import free_port

RESULTS = ("table", "sizes", "elsewhere", "many", "points")
RANK = str(Path(__file__).with_name("rank.py"))


def play(name, ranks, directory, *parts, fabric="mpi"):
    variables = {"WEFT_RENDEZVOUS": str(directory), "EXPECTED_RANKS": str(ranks)}
    variables["FABRIC"] = fabric
    passed = {n: os.environ[n] for n in ("PYTHONPATH", "WEFT_TUNING") if n in os.environ}
    command = [sys.executable, RANK, *parts]
    return start(found(name), ranks, command, limit=100, **variables, **passed)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("name", LIBRARIES)
def test_results(name, ranks, tmp_path):
    code, output = play(name, ranks, tmp_path, *RESULTS)
    assert (code, output.count(": ok")) == (0, ranks), output


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("name", LIBRARIES)
def test_results_beside_shared_memory(name, ranks, tmp_path):
    code, output = play(name, ranks, tmp_path, *RESULTS, fabric="shm+mpi")
    assert (code, output.count(": ok")) == (0, ranks), output


@pytest.mark.parametrize("fabric", ["mpi", "shm+mpi"])
@pytest.mark.parametrize("part", ["abort", "leave", "again", "fork", "late", "split", "stop"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_failures(name, part, fabric, tmp_path):
    code, output = play(name, 3, tmp_path, part, fabric=fabric)
    assert (code, output.count(": ok")) == (0, 3), output


@pytest.mark.parametrize("fabric", ["mpi", "shm+mpi"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_torch(name, fabric):
    """DDP ends with the parameters of one process."""
    pytest.importorskip("torch")
    passed = {n: os.environ[n] for n in ("PYTHONPATH", "WEFT_TUNING") if n in os.environ}
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, str(Path(__file__).with_name("torch_rank.py"))]
    code, output = start(found(name), 2, command, WEFT_FABRIC=fabric, **where, **passed)
    assert (code, output.count(": ok")) == (0, 2), output


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_killed_rank_ends_the_job(name, tmp_path):
    """MPI tells the others nothing. Its launcher ends them."""
    began = time.monotonic()
    code, output = play(name, 3, tmp_path, "die")
    assert code != 0
    assert output.count(": ok") == 0, output
    assert time.monotonic() - began < 15


def test_without_a_launcher(tmp_path):
    command = [sys.executable, "-c", "import weft; weft.init(0, 1, 'there', fabric='mpi')"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "start the ranks with mpirun" in done.stderr


INFO = [sys.executable, "-m", "weft", "info", "--json"]


def mpi_line(output: str) -> dict:
    return next(one for one in json.loads(output)["fabrics"] if one["name"] == "mpi")


@pytest.mark.parametrize("name", LIBRARIES)
def test_info_names_the_library(name):
    code, output = start(found(name), 1, INFO)
    assert code == 0
    line = mpi_line(output[output.index("{") :])
    assert line["available"]
    assert re.search("Open MPI|MPICH|Intel", line["text"]), line


def test_info_says_what_is_missing():
    done = subprocess.run(INFO, capture_output=True, text=True, timeout=60, check=True)
    line = mpi_line(done.stdout)
    assert not line["available"]
    assert "no launcher of MPI" in line["text"]
