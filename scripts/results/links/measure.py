"""Measures allreduce between hosts: libraries take turns of fresh processes on the same links."""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from links.cases import PLACES, RATES, SECONDS, SIZES, Row, hosts, rounds
from links.libraries import LIBRARIES, on_hosts

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import require
from weft.bench.processes import BurstFailed, burst
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
    failed = {tuple(row["turn"][:3]) for row in _lines(kept) if "why" in row}
    for turn in steps("turns", [turn for turn in _turns() if json.dumps(turn) not in done]):
        if turn[:3] in failed:
            continue
        row = {"turn": turn} | _taken(turn)
        if "why" in row:
            failed.add(turn[:3])
        with kept.open("a") as file:
            file.write(json.dumps(row) + "\n")
    return list(_rows(_lines(kept)))


def _turns() -> list[Turn]:
    return [
        (rate, place, library, number)
        for number in range(max(rounds(*each) for each in itertools.product(RATES, LIBRARIES)))
        for rate in RATES
        for place in PLACES
        for library in LIBRARIES
        if number < rounds(rate, library)
    ]


def _taken(turn: Turn) -> Row:
    """What a turn found; of a peer also that it failed, which then has no further turn there."""
    try:
        return {"samples": _take(turn)}
    except BurstFailed as error:
        if turn[2].startswith("weft"):
            raise
        return {"samples": {}, "why": str(error)}


def _take(turn: Turn) -> dict[int, list[float]]:
    """Seconds of the slowest rank, by bytes."""
    rate, place, library, _ = turn
    with Network(hosts(place), rate=RATES[rate]) as network:
        places = PLACES[place]
        cases = [Case("allreduce", nbytes // 4, len(places), "float32") for nbytes in SIZES]
        of_ranks = burst(on_hosts(library, places, network), Job(cases, SECONDS, None))
    found = {}
    for nbytes, case in zip(SIZES, zip(*of_ranks, strict=True), strict=True):
        if not all(one.correct for one in case):
            raise ValueError(f"{turn}: the result of {nbytes} bytes was wrong")
        found[nbytes] = [max(each) for each in zip(*(one.seconds for one in case), strict=True)]
    return found


def _lines(kept: Path) -> list[Row]:
    return [json.loads(line) for line in kept.read_text().splitlines()]


def _rows(turns: list[Row]) -> Iterator[Row]:
    """A row for each rate, place, library and size: the medians of its rounds."""
    found: dict[tuple[str, str, str, int], list[float]] = {}
    for one in turns:
        rate, place, library, _ = one["turn"]
        for nbytes, samples in one["samples"].items():
            medians = found.setdefault((rate, place, library, int(nbytes)), [])
            medians.append(round(statistics.median(samples) * 1e6, 2))
    processor = describe_processor()
    for (rate, place, library, size), medians in found.items():
        yield {
            "rate": rate, "place": place, "library": library, "bytes": size,
            "rounds_us": medians, "least_us": min(medians), "processor": processor,
        }  # fmt: skip
