"""Measures candidates on this machine, in bursts of fresh ranks, as `weft bench` does."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Iterator

import numpy as np

from weft.bench.cases import Case
from weft.bench.job import Job, Measured
from weft.bench.libraries import weft_library
from weft.bench.processes import BurstFailed, burst
from weft.tune.point import Point, Seconds, Timed, Timing

_LEAST_SECONDS = 0.02  # of a case
_SECONDS_A_BYTE = 2.5e-9  # more where samples take longer: inputs are rewritten and checked as well
_BEYOND_DOUBT = 2.0  # Weft's kernels may be faster than NumPy's copy
_BLOCK = 16 << 10  # bytes: two of them fit into a first cache
_OFFSETS = (0, 1024, 2048, 3072)  # some processors copy slowly where low address bits are alike


class Here:
    """This machine. Not thread safe: bursts need all of it."""

    def turn(self, point: Point, names: list[str]) -> list[Timing]:
        """The candidates, in one set of fresh processes a size.

        Each sample is its slowest rank's. Raises BurstFailed, also if results are wrong.
        """
        by_size = [list(_of_size(point, size, names)) for size in point.sizes]
        return list(zip(*by_size, strict=True))

    def least(self, point: Point) -> Seconds:
        """Half of what a core takes to write a rank's share of all outputs, from its first cache.

        No order of messages writes less, and bytes of a peer do not come from one's first cache.
        """
        return tuple(_share(point, size) / (_BEYOND_DOUBT * _rate()) for size in point.sizes)


def seconds_of(case: Case) -> float:
    """How long to measure a case."""
    return max(_LEAST_SECONDS, _SECONDS_A_BYTE * case.bytes * case.ranks)


def timed(case: Case, of_ranks: tuple[Measured, ...]) -> Timed:
    """What a case's samples say. Raises BurstFailed if a result was wrong."""
    if not all(one.correct for one in of_ranks):
        name = case.algorithm or case.collective
        raise BurstFailed(f"{name} gave wrong results for {case.bytes} bytes")
    slowest = np.max([one.seconds for one in of_ranks], axis=0)
    return Timed(float(np.median(slowest)), float(np.percentile(slowest, 99)))


def _of_size(point: Point, size: int, names: list[str]) -> Iterator[Timed]:
    plain = Case.sized(point.collective, size, point.ranks, "float32", symmetric=point.symmetric)
    cases = [dataclasses.replace(plain, algorithm=name) for name in names]
    by_rank = burst(weft_library("core"), Job(cases, seconds_of(plain), None))
    for case, of_ranks in zip(cases, zip(*by_rank, strict=True), strict=True):
        yield timed(case, of_ranks)


def _share(point: Point, size: int) -> int:
    """Bytes that all ranks together must write, over the ranks."""
    case = Case.sized(point.collective, size, point.ranks, "float32")
    written = sum(case.sides(rank)[1] or 0 for rank in range(point.ranks))
    in_place = case.count if point.collective == "broadcast" else 0  # the root has its output
    return (written - in_place) * case.item // point.ranks


@functools.cache
def _rate() -> float:
    """Bytes a second of the fastest copy that this process has seen in its first cache."""
    call = _copy(np.ones(8, np.uint8), np.ones(8, np.uint8))
    source, target = np.ones(_BLOCK, np.uint8), np.ones(_BLOCK + max(_OFFSETS), np.uint8)
    taken = min(_copy(target[at : at + _BLOCK], source) for at in _OFFSETS)
    return _BLOCK / max(taken - call, 1e-9)


def _copy(target: np.ndarray, source: np.ndarray) -> float:
    """The least seconds of many copies."""
    least = math.inf
    for _ in range(300):
        start = time.perf_counter()
        np.copyto(target, source)
        least = min(least, time.perf_counter() - start)
    return least
