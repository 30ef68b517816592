"""MPI's own collectives, run by Weft: results equal to Weft's own, obstacles, failures."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from mpirun import LIBRARIES, found, start

RANK = str(Path(__file__).with_name("native_rank.py"))


def run(name, ranks, part, directory):
    passed = {n: os.environ[n] for n in ("PYTHONPATH", "WEFT_TUNING") if n in os.environ}
    variables = {"WEFT_RENDEZVOUS": str(directory), **passed}
    return start(found(name), ranks, [sys.executable, RANK, part], **variables)


def play(name, ranks, part, directory):
    code, output = run(name, ranks, part, directory)
    assert (code, output.count(": ok")) == (0, ranks), output


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("part", ["table", "reductions", "uneven", "in_place"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_results(name, part, ranks, tmp_path):
    play(name, ranks, part, tmp_path)


@pytest.mark.parametrize("part", ["several", "again", "threads"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_communicators(name, part, tmp_path):
    play(name, 3, part, tmp_path)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", LIBRARIES)
def test_obstacles(name, ranks, tmp_path):
    play(name, ranks, "obstacles", tmp_path)


@pytest.mark.parametrize("name", LIBRARIES)
def test_more_communicators_than_mpi_has(name, tmp_path):
    play(name, 2, "too_many", tmp_path)


@pytest.mark.parametrize("part", ["abort", "ahead", "leave"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_failures(name, part, tmp_path):
    play(name, 3, part, tmp_path)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_killed_rank_ends_the_job(name, tmp_path):
    began = time.monotonic()
    code, output = run(name, 3, "die", tmp_path)
    assert code != 0
    assert output.count(": ok") == 0, output
    assert time.monotonic() - began < 20
