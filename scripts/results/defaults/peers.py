"""Weft beside other libraries, the sketch and the memory's limit: ten rounds of fresh processes."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path
from typing import Any

from weft.bench.cases import Case
from weft.bench.job import Job, Measured
from weft.bench.libraries import PEERS, Launch, Library, limit, weft_library
from weft.bench.processes import burst

from .placement import Placement, look_apart

Row = dict[str, Any]
ROUNDS = 10
SECONDS = 0.05  # of a case in a round
SKETCH_FROM = 16 << 10  # bytes: below, its threads' start and its halves say nothing
# Slots, chunks and copy loops of the sketch, of which the quickest counts, size by size.
SKETCHES: dict[str, tuple[str, ...]] = {}
SKETCHES["allreduce"] = (
    "slots=64,chunk=16K,fetch=plain",
    "slots=16,chunk=64K,fetch=plain",
    "slots=4,chunk=256K,fetch=plain",
    "slots=16,chunk=64K,fetch=string",
    "slots=4,chunk=16K,fetch=plain,lent=1",
    "slots=2,chunk=64K,fetch=plain,lent=1",
    "slots=4,chunk=16K,send=fetching,fetch=parts,lent=1",
    "slots=2,chunk=64K,send=fetching,fetch=parts,lent=1",
)
SKETCHES["alltoall"] = (
    "slots=4,chunk=16K,fetch=string,result=string,lent=1",
    "slots=2,chunk=64K,fetch=string,result=string,lent=1",
    "slots=2,chunk=64K,send=string,fetch=parts,result=parts,lent=1",
    "slots=2,chunk=64K,send=fetching,fetch=parts,result=parts,lent=1",
    "slots=2,chunk=128K,send=fetching,fetch=parts,result=parts,lent=1",
    "slots=8,chunk=64K,lag=7,send=fetching,fetch=parts,result=parts",
    "slots=8,chunk=64K,lag=7,send=fetching,fetch=stream,result=stream",
)
_PROGRAM = Path(__file__).resolve().parents[3] / "build" / "package" / "bench_sketch"


def sketch() -> Library:
    """benchmarks/sketch.cc, an allreduce or an alltoall."""

    def launch(ranks: int, directory: Path) -> Launch:
        return Launch([[str(_PROGRAM), str(directory)]], {})

    return Library("sketch", "threads", launch)


def missing() -> str | None:
    """What is not there, with the remedy."""
    if not _PROGRAM.exists():
        return f"there is no {_PROGRAM}: .venv/bin/ninja -C build/package bench_sketch"
    return next((why for peer in PEERS.values() if (why := peer.missing())), None)


def measured(turn: Row, ranks: int, sizes: list[int], rounds: int = ROUNDS) -> Row:
    """Microseconds of each way in each round: `us[way][size]`."""
    ways = _ways(turn["collective"], ranks, sizes)
    us: dict[str, dict[str, list[float]]] = {name: {} for name in ways}
    placement = Placement()
    for number in range(rounds):
        names = list(ways) if number % 2 == 0 else list(ways)[::-1]
        for name in names:
            for nbytes, time in _round(*ways[name], placement).items():
                us[name].setdefault(str(nbytes), []).append(time)
    return {"us": us, **placement.counts()}


def _ways(
    collective: str, ranks: int, sizes: list[int]
) -> dict[str, tuple[Library, dict[int, Case]]]:
    plain = {n: Case.sized(collective, n, ranks, "float32") for n in sizes}
    symmetric = {n: dataclasses.replace(case, symmetric=True) for n, case in plain.items()}
    weft = weft_library("core")
    ways = {"weft": (weft, plain), "weft, symmetric": (weft, symmetric), "limit": (limit(), plain)}
    ways |= {name: (library, plain) for name, library in PEERS.items()}
    for choice in SKETCHES.get(collective, ()):
        chosen = {
            n: dataclasses.replace(case, algorithm=choice)
            for n, case in plain.items()
            if n >= SKETCH_FROM
        }
        ways[f"sketch {choice}"] = (sketch(), chosen)
    return ways


def _round(library: Library, cases: dict[int, Case], placement: Placement) -> dict[int, float]:
    """Medians of the slowest rank, in microseconds. Raises ValueError if a result is wrong.

    Cores also move while all sizes are measured. So those that met moved cores are measured again.
    """
    times: dict[int, float] = {}
    left = dict(cases)

    def measure() -> dict[int, tuple[Measured, ...]]:
        by_rank = burst(library, Job(list(left.values()), SECONDS, None))
        return dict(zip(left, zip(*by_rank, strict=True), strict=True))

    def all_usual(taken: dict[int, tuple[Measured, ...]]) -> bool:
        for nbytes, of_ranks in taken.items():
            if _met_usual_cores(of_ranks):
                times[nbytes] = _median(library, nbytes, of_ranks)
                del left[nbytes]
        return not left

    last = placement.steady(measure, all_usual)
    times |= {nbytes: _median(library, nbytes, last[nbytes]) for nbytes in left}
    return {nbytes: times[nbytes] for nbytes in cases}


def _met_usual_cores(of_ranks: tuple[Measured, ...]) -> bool:
    apart = max(one.apart for one in of_ranks)
    return apart == 0 or look_apart().is_usual(apart)


def _median(library: Library, nbytes: int, of_ranks: tuple[Measured, ...]) -> float:
    if not all(one.correct for one in of_ranks):
        raise ValueError(f"{library.name}: a wrong result at {nbytes} bytes")
    slowest = map(max, zip(*(one.seconds for one in of_ranks), strict=True))
    return float(f"{statistics.median(slowest) * 1e6:.5g}")
