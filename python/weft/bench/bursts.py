"""A run: rounds, in each every library in turn, samples pooled over the rounds."""

from __future__ import annotations

import math
from collections.abc import Callable

from weft.bench.cases import Case
from weft.bench.job import Job, Measured
from weft.bench.libraries import Library
from weft.bench.processes import burst


def measure(
    cases: list[Case],
    libraries: list[Library],
    rounds: int,
    seconds: float,
    samples: int | None,
    progress: Callable[[str, int, int], None],
) -> list[list[list[Measured]]]:
    """The samples of all rounds together, by library, rank and case.

    `seconds` are for each case and library, over all rounds; `samples`, if given, is a number of
    samples instead. `progress` is called before each burst with the library's name, the number of
    bursts done and the number of all bursts. Raises BurstFailed.
    """
    rounds = min(rounds, samples) if samples else rounds
    job = Job(cases, seconds / rounds, math.ceil(samples / rounds) if samples else None)
    bursts: list[list[list[list[Measured]]]] = [[] for _ in libraries]
    for turn in range(rounds):
        for number, library in enumerate(libraries):
            progress(library.name, turn * len(libraries) + number, rounds * len(libraries))
            bursts[number].append(burst(library, job))
    return [_pooled(of_library) for of_library in bursts]


def _pooled(bursts: list[list[list[Measured]]]) -> list[list[Measured]]:
    by_rank = zip(*bursts, strict=True)
    return [[_joined(parts) for parts in zip(*rank, strict=True)] for rank in by_rank]


def _joined(parts: tuple[Measured, ...]) -> Measured:
    return Measured(
        all(part.correct for part in parts),
        parts[0].algorithm,
        [second for part in parts for second in part.seconds],
        max(part.apart for part in parts),
    )
