"""Measures LeNet's eight gradient messages, and what a message costs, without computation."""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from mlsl.cases import NATIVE, PARTS, Amount, Row
from mlsl.launch import environment, weft_driver

from weft.bench.cases import Case
from weft.bench.job import Job, Measured
from weft.bench.libraries import PEERS, Launch, Library, weft_library
from weft.bench.processes import burst, run_ranks

MPIS = ("openmpi", "mpich", "intelmpi")
# Name: the fabric, the MPI that starts it, the algorithm.
WEFTS: dict[str, tuple[str, str, str]] = {"weft_shm": ("shm", "", "")}
for _mpi in MPIS:
    WEFTS[f"weft_mpi_{_mpi}"] = ("mpi", _mpi, "")
    WEFTS[f"native_mpi_{_mpi}"] = ("mpi", _mpi, NATIVE)
WEFTS |= {"weft_shmem": ("shmem", "", ""), "native_shmem": ("shmem", "", NATIVE)}
LIBRARIES = [*WEFTS, *MPIS, "weft_torch", "gloo"]
# What a message costs: a put from each of two ranks to the other.
COST_SIZES = [8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20]
COST_LIBRARIES = ["weft_shm", "weft_mpi_openmpi", "weft_shmem"]
MACHINE = "machine"  # in a cost's turn: what `weft topology --measure` says of this one


def turns(amount: Amount) -> list[Row]:
    """Libraries take turns; every turn has fresh processes."""
    found = [
        {"part": "messages", "library": name, "ranks": ranks, "together": together, "round": number}
        for ranks, rounds in ((2, amount.rounds), (4, amount.crowded_rounds))
        for number, together, name in itertools.product(range(rounds), (False, True), LIBRARIES)
    ]
    costs = itertools.product(range(amount.rounds), [*COST_LIBRARIES, MACHINE])
    found += [{"part": "costs", "library": name, "round": number} for number, name in costs]
    return found


def measured(turn: Row, amount: Amount) -> Row:
    """Seconds of the slowest rank.

    Raises:
        BurstFailed: a process failed.
        ValueError: a result was wrong.
    """
    if turn["part"] == "costs":
        return _machine() if turn["library"] == MACHINE else _costs(turn, amount)
    case = Case("allreduce", sum(PARTS), turn["ranks"], "float32", algorithm=_algorithm(turn),
                parts=PARTS, together=turn["together"])  # fmt: skip
    of_ranks = burst(library(turn["library"]), Job([case], amount.seconds, None))
    samples = slowest([rank[0] for rank in of_ranks])
    return {"algorithm": of_ranks[0][0].algorithm, **summary(samples)}


def _costs(turn: Row, amount: Amount) -> Row:
    cases = [Case("sendrecv", nbytes // 4, 2, "float32") for nbytes in COST_SIZES]
    of_ranks = burst(library(turn["library"]), Job(cases, amount.seconds / 2, None))
    medians = {}
    for case, of_case in zip(cases, zip(*of_ranks, strict=True), strict=True):
        medians[case.bytes] = statistics.median(slowest(list(of_case)))
    return {"seconds": medians}


def _machine() -> Row:
    """The rates of a rank on this machine."""
    with tempfile.TemporaryDirectory(prefix="weft-machine-") as name:
        worker = [sys.executable, "-m", "weft.topology.worker", name]
        told = environment("shm", Path(name))
        run_ranks(MACHINE, Launch([[*worker, str(r), "2"] for r in (0, 1)], told), Path(name), 60)
        return {"rates": json.loads((Path(name) / "measured").read_text())["rates"]}


def library(name: str) -> Library:
    """By its name in `LIBRARIES`."""
    if name in WEFTS:
        fabric, by, _ = WEFTS[name]
        return weft_driver(fabric, by)
    if name == "weft_torch":
        through_torch = weft_library("torch")
        return replace(through_torch, launch=lambda ranks, directory: replace(
            through_torch.launch(ranks, directory), environment=environment("shm", directory)
        ))  # fmt: skip
    return PEERS[name]


def slowest(of_ranks: list[Measured]) -> list[float]:
    """Seconds of each operation.

    Raises:
        ValueError: a result was wrong.
    """
    if not all(one.correct for one in of_ranks):
        raise ValueError("a result was wrong")
    return [max(each) for each in zip(*(one.seconds for one in of_ranks), strict=True)]


def summary(samples: list[float]) -> Row:
    """What is kept of them: quartiles, the least, and how many."""
    low, middle, high = statistics.quantiles(samples, n=4) if len(samples) > 1 else samples * 3
    return {"seconds": middle, "quartiles": [low, high], "least": min(samples),
            "samples": len(samples)}  # fmt: skip


def _algorithm(turn: Row) -> str:
    name = turn["library"]
    return WEFTS[name][2] if name in WEFTS else ""
