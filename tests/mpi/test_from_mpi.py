"""Weft's communicators over mpi4py's, beside the program's own use of MPI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mpirun import LIBRARIES, found, python_with_mpi4py, start

RANK = str(Path(__file__).with_name("beside_rank.py"))


def play(name, ranks, part, level="multiple", other=None):
    library, python = found(name), python_with_mpi4py()
    path = found(other or name).path
    passed = {n: os.environ[n] for n in ("PYTHONPATH", "WEFT_TUNING") if n in os.environ}
    code, output = start(library, ranks, [python, RANK, part, level], MPI4PY_LIBMPI=path, **passed)
    assert (code, output.count(": ok")) == (0, ranks), output


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("name", LIBRARIES)
def test_any_communicator(name, ranks):
    play(name, ranks, "kinds")


@pytest.mark.parametrize("part", ["some", "meanwhile", "late", "fails"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_beside_the_program(name, part):
    play(name, 3, part)


@pytest.mark.parametrize("name", LIBRARIES)
def test_one_thread_at_a_time(name):
    play(name, 2, "between", "serialized")


@pytest.mark.parametrize("name", LIBRARIES)
def test_more_often_than_mpi_has_communicators(name):
    play(name, 2, "often")


@pytest.mark.parametrize("part", ["wrong", "uninitialised"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_bad_input(name, part):
    play(name, 2, part)


def test_another_library():
    play("mpich", 1, "another", other="openmpi")
