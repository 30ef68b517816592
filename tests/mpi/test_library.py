"""MPI as Weft calls it, without headers: each library that is found, started by its own mpirun."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from mpirun import BUILD, LIBRARIES, STANDARD, found, python_with_mpi4py, start

BESIDE = Path(__file__).with_name("beside_mpi4py.py")

pytestmark = pytest.mark.skipif(
    BUILD is None, reason="weft_mpi_test is not built: cmake -DWEFT_TESTS=ON"
)


def program(*words: str) -> list[str]:
    assert BUILD is not None
    return [str(BUILD / "weft_mpi_test"), *words]


def probe(python: str, level: str) -> list[str]:
    assert BUILD is not None
    return [python, str(BESIDE), str(BUILD / "libweft_mpi_probe.so"), level]


def check(result: tuple[int, str], ranks: int, interface: str, level: str = "MULTIPLE") -> None:
    code, output = result
    line = rf"rank \d of {ranks}: ok, {interface} interface, MPI_THREAD_{level}"
    assert (code, len(re.findall(line, output))) == (0, ranks), output


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", LIBRARIES)
def test_weft_initialises(name, ranks):
    library = found(name)
    check(start(library, ranks, program("weft")), ranks, library.interface)


@pytest.mark.parametrize("name", LIBRARIES)
def test_python_ends(name):
    library = found(name)
    check(start(library, 2, probe(sys.executable, "none")), 2, library.interface)


@pytest.mark.parametrize("level", ["SERIALIZED", "MULTIPLE"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_program_initialises(name, level):
    library = found(name)
    check(start(library, 2, program("program", level)), 2, library.interface, level)


@pytest.mark.parametrize("name", LIBRARIES)
def test_level_too_low(name):
    code, output = start(found(name), 2, program("program", "FUNNELED"))
    assert code != 0
    assert "MPI_THREAD_FUNNELED" in output, output
    assert "mpi4py.rc.thread_level" in output


@pytest.mark.parametrize("name", LIBRARIES)
def test_finalised_before(name):
    code, output = start(found(name), 2, program("finalised", "MULTIPLE"))
    assert code != 0
    assert "make communicators before MPI_Finalize" in output, output


@pytest.mark.parametrize("name", LIBRARIES)
def test_forked_child_is_no_rank(name):
    code, output = start(found(name), 2, program("fork"))
    assert (code, output.count("forked from one that uses MPI")) == (0, 2), output


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", LIBRARIES)
def test_mpi4py_initialises(name, ranks):
    library, python = found(name), python_with_mpi4py()
    result = start(library, ranks, probe(python, "multiple"), MPI4PY_LIBMPI=library.path)
    check(result, ranks, library.interface)


@pytest.mark.parametrize("name", STANDARD)
def test_standard_interface(name):
    found(name)
    library = STANDARD[name]
    words = ["weft"] if name == "mpich" else ["weft", "noerrors"]
    result = start(library, 2, program(*words), LD_PRELOAD=library.path)
    check(result, 2, library.interface)


def test_two_libraries():
    library, other = found("mpich"), found("openmpi")
    code, output = start(library, 1, program("weft"), LD_PRELOAD=f"{library.path} {other.path}")
    assert code != 0
    assert "two MPI libraries are in this process" in output, output


@pytest.mark.parametrize(("launcher", "loaded"), [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_library_of_another_launcher(launcher, loaded):
    library, other = found(launcher), found(loaded)
    code, output = start(library, 2, program("weft"), LD_PRELOAD=other.path)
    assert code != 0
    assert "not the library of" in output, output


def test_world_of_another_size():
    code, output = start(found("openmpi"), 2, program("weft"), OMPI_COMM_WORLD_SIZE="5")
    assert code != 0
    assert "MPI's world has 2 ranks, but" in output, output


def test_no_launcher():
    done = subprocess.run(program("weft"), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "start the ranks with mpirun" in done.stdout
