"""This machine as a topology: measured by processes of its own, a rank each, several times.

    measured = measure(ranks=2, rounds=5)
    Path("here.yaml").write_text(text_of(measured))

Not imported by `weft.topology`: `weft topology --measure` is its command.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import weft
from weft._core import Link, SizedRates, Topology, Vertex
from weft.bench.libraries import Launch
from weft.bench.processes import run_ranks
from weft.bench.processor import describe_processor
from weft.errors import InvalidArgument
from weft.topology import write

_ROUND_SECONDS = 10.0  # far more than a round takes


@dataclass(frozen=True)
class Measured:
    """The figures of several rounds: each is a list with one value for each round.

    `sockets` by rank; `links` by pair of ranks, with latency (s) and bandwidth (bytes/s); `rates`
    are copy, reduce (bytes/s), step and call (s); `by_size` are copy, reduce, fetch and store
    (bytes/s) by the bytes of a rank's buffers.
    """

    name: str
    sockets: list[int]
    links: dict[tuple[int, int], dict[str, list[float]]]
    rates: dict[str, list[float]]
    by_size: dict[float, dict[str, list[float]]]


def measure(
    ranks: int, rounds: int = 5, progress: Callable[[int, int], None] = lambda done, all: None
) -> Measured:
    """Measures this machine with `ranks` processes, each on a core of its own.

    Each round has fresh processes, since where a machine puts them may differ. `progress` hears,
    before each, how many rounds of how many are done.

    Raises:
        InvalidArgument: fewer than two ranks, or more than cores.
        BurstFailed: a process failed.
    """
    cores = len(os.sched_getaffinity(0))
    if not 2 <= ranks <= cores:
        raise InvalidArgument(
            f"{ranks} ranks: give 2 to {cores}, the cores here; ranks that take turns on a core "
            "are in no topology"
        )
    seen = []
    for done in range(rounds):
        progress(done, rounds)
        seen.append(_round(ranks))
    return gathered(seen)


def gathered(rounds: list[dict[str, Any]]) -> Measured:
    """Of a worker's figures of each round."""

    def lists(parts: Sequence[dict[str, float]], *words: str) -> dict[str, list[float]]:
        return {word: [part[word] for part in parts] for word in words}

    links = zip(*(round["links"] for round in rounds), strict=True)
    sizes = zip(*(round["by_size"] for round in rounds), strict=True)
    return Measured(
        rounds[0]["name"],
        rounds[0]["sockets"],
        {(of[0]["a"], of[0]["b"]): lists(of, "latency", "bandwidth") for of in links},
        lists([round["rates"] for round in rounds], "copy", "reduce", "step", "call"),
        {of[0]["bytes"]: lists(of, "copy", "reduce", "fetch", "store") for of in sizes},
    )


def text_of(measured: Measured) -> str:
    """The file: medians over the rounds, each with its least and greatest as a comment."""
    rounds = len(measured.rates["copy"])
    notes = [
        f"{measured.name}; measured by `weft topology --measure`, weft {weft.__version__}.",
        f"Medians of {rounds} rounds; in brackets the least and the greatest.",
    ]
    spread: dict[tuple[object, ...], Sequence[float]] = {
        **{("rates", word): seen for word, seen in measured.rates.items()},
        **{
            ("by_size", size, word): seen
            for size, rates in measured.by_size.items()
            for word, seen in rates.items()
        },
        **{
            ("link", *ends, word): seen
            for ends, link in measured.links.items()
            for word, seen in link.items()
        },
    }
    return write.text_of(topology_from(measured), notes=notes, spread=spread)


def topology_from(measured: Measured) -> Topology:
    """The value that the file describes: medians."""

    def medians(figures: dict[str, list[float]]) -> dict[str, Any]:
        return {word: median(seen) for word, seen in figures.items()}

    sockets = enumerate(measured.sockets)
    return Topology(
        "measured",
        [Vertex(f"rank{rank}", 0, socket) for rank, socket in sockets],
        [Link(a, b, memory=True, **medians(link)) for (a, b), link in measured.links.items()],
        list(range(len(measured.sockets))),
        **medians(measured.rates),
        by_size=[SizedRates(size, **medians(one)) for size, one in measured.by_size.items()],
    )


def _round(ranks: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="weft-measure-") as name:
        directory = Path(name)
        worker = [sys.executable, "-m", "weft.topology.worker", name]
        commands = [[*worker, str(rank), str(ranks)] for rank in range(ranks)]
        run_ranks("measurement", Launch(commands, {}), directory, _ROUND_SECONDS * ranks)
        seen: dict[str, Any] = json.loads((directory / "measured").read_text())
    return seen | {"name": describe_processor()}
