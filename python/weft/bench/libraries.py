"""The libraries under measurement, and how the processes of each are started."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import weft
from weft.errors import Unsupported

PEERS_DIRECTORY = Path("build/peers")  # where `make peers` puts them


@dataclass(frozen=True)
class Launch:
    """Processes to start, and what their environment has besides this process's."""

    commands: list[list[str]]
    environment: dict[str, str]


@dataclass(frozen=True)
class Library:
    """A library, as one row of results names it."""

    name: str
    api: str  # what it is called through
    launch: Callable[[int, Path], Launch]  # (ranks, directory of the job)
    missing: Callable[[], str | None] = lambda: None  # why it cannot run here, with the remedy
    batched: bool = True  # False: its operations must not follow each other without a meeting


def weft_library(api: str) -> Library:
    """Weft, through its C++ interface ("core") or torch.distributed ("torch")."""
    return _through_torch("weft") if api == "torch" else Library("weft", "core", _weft)


def limit() -> Library:
    """Not a library: the memory accesses of a collective without any messages."""
    return Library("limit", "memory", _limit, batched=False)


def require(libraries: list[Library]) -> None:
    """Raises Unsupported if one of them is not there, with the remedy."""
    for library in libraries:
        if why := library.missing():
            raise Unsupported(f"{library.name}: {why}")


def crowded(ranks: int) -> bool:
    """Whether there are more ranks than cores to pin them to."""
    return ranks > len(os.sched_getaffinity(0))


def _program(name: str) -> str:
    return str(Path(weft.__path__[0]) / "bin" / name)


def _weft(ranks: int, directory: Path) -> Launch:
    program = _program("bench_weft")
    return Launch([[program, str(directory), str(rank)] for rank in range(ranks)], {})


def _limit(ranks: int, directory: Path) -> Launch:
    return Launch([[_program("bench_limit"), str(directory)]], {})


def _through_torch(backend: str) -> Library:
    def launch(ranks: int, directory: Path) -> Launch:
        worker = [sys.executable, "-m", "weft.bench.worker", backend, str(directory)]
        return Launch([[*worker, str(rank)] for rank in range(ranks)], {})

    def missing() -> str | None:
        return None if find_spec("torch") else "needs PyTorch: pip install torch"

    return Library(backend, "torch", launch, missing)


def _place(name: str) -> Path:
    return PEERS_DIRECTORY.resolve() / name


def _not_set_up(name: str) -> Callable[[], str | None]:
    def missing() -> str | None:
        driver = _place(name) / "driver"
        if driver.exists():
            return None
        return f"there is no {driver}: run `make peers` in a checkout, and weft bench from there"

    return missing


def _mpi(
    name: str,
    mpiexec: str,
    *options: str,
    environment: dict[str, str],
    yields: dict[str, str],
    api: str = "mpi",
) -> Library:
    """An MPI, or what runs on one, started by its own mpiexec.

    mpiexec's binding is off: the driver pins its ranks as it does for every library.
    `yields`: environment that makes it give up a core that another rank needs. `{place}` in all
    of it is the folder that `make peers` set up.
    """

    def launch(ranks: int, directory: Path) -> Launch:
        place = _place(name)
        words = [mpiexec, *options, "-n", str(ranks), str(place / "driver"), str(directory)]
        wanted = environment | (yields if crowded(ranks) else {})
        # Whatever it puts into a temporary directory goes with ours.
        return Launch(
            [[word.format(place=place) for word in words]],
            {key: value.format(place=place) for key, value in wanted.items()}
            | {"TMPDIR": str(directory)},
        )

    return Library(name, api, launch, _not_set_up(name))


_INTEL_MPI = {"I_MPI_ROOT": "{place}/venv", "I_MPI_FABRICS": "shm", "I_MPI_PIN": "0"}
_INTEL_WAITS = {"I_MPI_WAIT_MODE": "1"}
# Its worker thread would compete for its rank's core: at 8 bytes 20 ms instead of 5 us.
_ONECCL = {"LD_LIBRARY_PATH": "{place}/venv/lib", "CCL_WORKER_OFFLOAD": "0"}

PEERS = {
    library.name: library
    for library in (
        _through_torch("gloo"),
        _mpi(
            "openmpi", "mpiexec.openmpi", "--bind-to", "none", "--oversubscribe",
            environment={
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_mpi_yield_when_idle": "0",
            },
            yields={"OMPI_MCA_mpi_yield_when_idle": "1"},
        ),
        _mpi("mpich", "{place}/venv/bin/mpiexec", environment={}, yields={}),
        _mpi(
            "intelmpi", "{place}/venv/bin/mpiexec",
            environment=_INTEL_MPI, yields=_INTEL_WAITS,
        ),
        _mpi(
            "oneccl", "{place}/venv/bin/mpiexec", api="oneccl",
            environment=_INTEL_MPI | _ONECCL,
            yields=_INTEL_WAITS,
        ),
    )
}  # fmt: skip
