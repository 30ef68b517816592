"""Measures allreduce between hosts: libraries take turns of fresh processes on the same links."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from links.cases import PLACES, RATES, ROUNDS, SECONDS, SIZES, Row, hosts
from links.libraries import LIBRARIES, on_hosts

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import require
from weft.bench.processes import burst
from weft.bench.processor import describe_processor

from network import Network
from page import steps

Turn = tuple[str, str, str, int]  # rate, place, library, round


def measured(kept: Path) -> list[Row]:
    """All rows. Turns that a run which was stopped has left in the file `kept` are not repeated.

    Raises:
        Unsupported: a peer is not set up.
        BurstFailed: a process failed, with what it said.
        ValueError: a result was wrong.
    """
    require(list(LIBRARIES.values()))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    done = {json.dumps(row["turn"]) for row in _lines(kept)}
    for turn in steps("turns", [turn for turn in _turns() if json.dumps(turn) not in done]):
        line = json.dumps({"turn": turn, "samples": _take(turn)})
        with kept.open("a") as file:
            file.write(line + "\n")
    return list(_rows(_lines(kept)))


def _turns() -> list[Turn]:
    return [
        (rate, place, library, number)
        for number in range(ROUNDS)
        for rate in RATES
        for place in PLACES
        for library in LIBRARIES
    ]


def _take(turn: Turn) -> dict[int, list[float]]:
    """Seconds of the slowest rank, by bytes."""
    rate, place, library, _ = turn
    with Network(hosts(place), rate=RATES[rate]) as network:
        places = PLACES[place]
        cases = [Case("allreduce", nbytes // 4, len(places), "float32") for nbytes in SIZES]
        of_ranks = burst(on_hosts(LIBRARIES[library], places, network), Job(cases, SECONDS, None))
    found = {}
    for nbytes, case in zip(SIZES, zip(*of_ranks, strict=True), strict=True):
        if not all(one.correct for one in case):
            raise ValueError(f"{turn}: the result of {nbytes} bytes was wrong")
        found[nbytes] = [max(each) for each in zip(*(one.seconds for one in case), strict=True)]
    return found


def _lines(kept: Path) -> list[Row]:
    return [json.loads(line) for line in kept.read_text().splitlines()]


def _rows(turns: list[Row]) -> Iterator[Row]:
    """A row for each rate, place, library and size: the samples of all rounds."""
    found: dict[tuple[str, str, str, int], list[float]] = {}
    for one in turns:
        rate, place, library, _ = one["turn"]
        for nbytes, samples in one["samples"].items():
            found.setdefault((rate, place, library, int(nbytes)), []).extend(samples)
    processor = describe_processor()
    for (rate, place, library, size), samples in found.items():
        yield {
            "rate": rate, "place": place, "library": library, "bytes": size,
            "median_us": round(statistics.median(samples) * 1e6, 2),
            "min_us": round(min(samples) * 1e6, 2), "samples": len(samples),
            "processor": processor,
        }  # fmt: skip
