"""Measures candidates on this machine, in bursts of fresh ranks, as `weft bench` does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from weft.bench.cases import Case
from weft.bench.job import Job, Measured
from weft.bench.libraries import weft_library
from weft.bench.processes import BurstFailed, burst
from weft.tune.trial import Point, Times

_LEAST_SECONDS = 0.01  # of a case
_SECONDS_A_BYTE = 2.5e-9  # more where samples take longer: inputs are rewritten and checked as well


def measure(point: Point, names: list[str], turns: int) -> Times:
    """Each candidate at each size, in turn, in one set of fresh processes a size.

    The seconds of a turn are the median of its samples, each of which is its slowest rank's.
    Raises BurstFailed, also if a candidate's results are wrong.
    """
    by_size = [list(_of_size(point, size, names, turns)) for size in point.sizes]
    turned = [tuple(seconds) for seconds in zip(*by_size, strict=True)]
    return {name: turned[place :: len(names)] for place, name in enumerate(names)}


def _of_size(point: Point, size: int, names: list[str], turns: int) -> Iterator[float]:
    plain = Case.sized(point.collective, size, point.ranks, "float32", symmetric=point.symmetric)
    cases = [dataclasses.replace(plain, algorithm=name) for name in names] * turns
    seconds = max(_LEAST_SECONDS, _SECONDS_A_BYTE * plain.bytes * point.ranks)
    by_rank = burst(weft_library("core"), Job(cases, seconds, None))
    for case, of_ranks in zip(cases, zip(*by_rank, strict=True), strict=True):
        yield _median(case, of_ranks)


def _median(case: Case, of_ranks: tuple[Measured, ...]) -> float:
    if not all(one.correct for one in of_ranks):
        raise BurstFailed(f"{case.algorithm} gave wrong results for {case.bytes} bytes")
    return float(np.median(np.max([one.seconds for one in of_ranks], axis=0)))
