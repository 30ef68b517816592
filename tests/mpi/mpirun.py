"""The MPI libraries that are here, each with its own mpirun."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from weft import _core

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "peers"
# Where the C++ programs of the tests are, beside the Weft that is tested.
BUILDS = (Path(_core.__file__).parents[2], ROOT / "build" / "package")
BUILD = next((one for one in BUILDS if (one / "weft_mpi_test").exists()), None)


class Library(NamedTuple):
    run: list[str]
    path: str  # as the loader finds it
    interface: str


# What `make test` installs for its libfabric is all of MPICH.
MPICH = PEERS.parent / "libfabric"


def _peer(name: str, interface: str = "MPICH's", file: str = "libmpi.so.12") -> Library:
    venv = MPICH if name == "mpich" else PEERS / name / "venv"
    return Library([str(venv / "bin" / "mpirun")], str(venv / "lib" / file), interface)


LIBRARIES = {
    "openmpi": Library(
        ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--quiet"],
        "libmpi.so.40",
        "Open MPI's",
    ),
    "mpich": _peer("mpich"),
    "intelmpi": _peer("intelmpi"),
}
# Those with the standard's interface as well. Intel MPI's ends the process at each error.
STANDARD = {name: _peer(name, "MPI-5's", "libmpi_abi.so.1") for name in ("mpich", "intelmpi")}


# OpenSHMEM's launcher; the library is Open MPI's, too.
OSHRUN = Library(["oshrun", *LIBRARIES["openmpi"].run[1:]], "liboshmem.so.40", "OpenSHMEM's")


def found(name: str) -> Library:
    library = OSHRUN if name == "oshrun" else LIBRARIES[name]
    if shutil.which(library.run[0]) is None:
        pytest.skip(f"{library.run[0]} is not there (Debian: openmpi-bin; else: make peers)")
    return library


def python_with_mpi4py() -> str:
    for python in (sys.executable, str(PEERS / "mpi4py" / "venv" / "bin" / "python")):
        command = [python, "-c", "import mpi4py, numpy, pytest"]
        if shutil.which(python) and subprocess.run(command, capture_output=True).returncode == 0:
            return python
    pytest.skip("mpi4py is not installed")


def start(
    library: Library, ranks: int, command: list[str], *, limit: int = 60, **variables: str
) -> tuple[int, str]:
    """The status and the output of a job, which ends within `limit` seconds."""
    # Intel's mpirun looks for its parts on PATH.
    path = os.pathsep.join([str(Path(library.run[0]).parent), os.environ["PATH"]])
    names = [f"{name}={value}" for name, value in variables.items()]
    job = subprocess.Popen(
        [*library.run, "-n", str(ranks), "env", *names, *command],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output = job.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        job.terminate()  # the launcher then ends its ranks, as it does at the end of a user's job
        raise AssertionError(f"not over after {limit} s:\n{end(job)}") from None
    return job.returncode, output


def end(job: subprocess.Popen) -> str:
    """What a job that was told to end has said."""
    try:
        return job.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        return job.communicate()[0]
