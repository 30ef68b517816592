"""The tables of docs/results/regret.md with Weft beside other libraries, the sketch, the limit."""

from __future__ import annotations

import statistics
from typing import Any

from page import digits, of, size, table

Row = dict[str, Any]
PEER, SKETCH, LIMIT, RUNS = 1.05, 1.10, 1.30, 1.30  # what a ratio may be
_LIMIT_FROM = 1 << 20  # symmetric memory is held to the limit from here on
_NOTHING = "No processor was measured yet."
_PEERS = ("gloo", "openmpi", "mpich", "intelmpi", "oneccl")
_HEAD = [
    "bytes", "Weft, µs", "best peer", "µs", "Weft / peer", "sketch, µs", "Weft / sketch",
    "symmetric, µs", "symmetric / ordinary", "limit, µs", "symmetric / limit", "ten runs",
]  # fmt: skip


def part(rows: list[Row]) -> str:
    """A section a processor."""
    rows = [row["turn"] | row for row in rows]
    processors = dict.fromkeys(row["processor"] for row in rows)
    sections = [
        "\n\n".join([f"### {name}", _summary(of(rows, processor=name)),
                     *(_section(row) for row in of(rows, processor=name))])
        for name in processors
    ]  # fmt: skip
    return "\n\n".join(sections) or _NOTHING


def _section(row: Row) -> str:
    return f"**{row['collective']}**\n\n" + table(_HEAD, [_line(row, n) for n in _sizes(row)])


def _sizes(row: Row) -> list[int]:
    return [int(n) for n in row["us"]["weft"]]


def us(row: Row, way: str, nbytes: int) -> float | None:
    """The median over the rounds."""
    taken = row["us"].get(way, {}).get(str(nbytes))
    return statistics.median(taken) if taken else None


def best_peer(row: Row, nbytes: int) -> tuple[str, float]:
    """The quickest, and its microseconds."""
    known = {name: us(row, name, nbytes) for name in _PEERS}
    there = {name: time for name, time in known.items() if time}
    name = min(there, key=there.__getitem__)
    return name, there[name]


def sketch(row: Row, nbytes: int) -> float | None:
    """Of its quickest choice."""
    times = [us(row, way, nbytes) for way in row["us"] if way.startswith("sketch")]
    return min((time for time in times if time), default=None)


def ratios(row: Row, nbytes: int) -> dict[str, tuple[float | None, float]]:
    """What is compared, and what it may be at most."""
    weft = us(row, "weft", nbytes)
    symmetric = us(row, "weft, symmetric", nbytes)
    runs = row["us"]["weft"][str(nbytes)]
    held = nbytes >= _LIMIT_FROM
    return {
        "peer": (_over(weft, best_peer(row, nbytes)[1]), _peer_goal(row, nbytes)),
        "sketch": (_over(weft, sketch(row, nbytes)), SKETCH),
        "ordinary": (_over(symmetric, weft), 1.0 + 0.03),
        "limit": (_over(symmetric, us(row, "limit", nbytes)) if held else None, LIMIT),
        "runs": (max(runs) / min(runs), RUNS),
    }


def _peer_goal(row: Row, nbytes: int) -> float:
    """Of Weft's time over the best peer's. An allreduce is to be faster where the sketch is."""
    quickest = sketch(row, nbytes)
    if row["collective"] != "allreduce" or nbytes < 64 << 10 or not quickest:
        return PEER
    goal = 0.6 if nbytes >= 4 << 20 else 0.75
    return min(PEER, max(goal, SKETCH * quickest / best_peer(row, nbytes)[1]))


def _over(time: float | None, other: float | None) -> float | None:
    return time / other if time and other else None


def _line(row: Row, nbytes: int) -> list[str]:
    peer, peer_us = best_peer(row, nbytes)
    known = {name: _marked(*one) for name, one in ratios(row, nbytes).items()}
    return [
        size(nbytes), _us(us(row, "weft", nbytes)), peer, _us(peer_us), known["peer"],
        _us(sketch(row, nbytes)), known["sketch"], _us(us(row, "weft, symmetric", nbytes)),
        known["ordinary"], _us(us(row, "limit", nbytes)), known["limit"], known["runs"],
    ]  # fmt: skip


def _us(time: float | None) -> str:
    return digits(time) if time else ""


def _marked(ratio: float | None, most: float) -> str:
    if ratio is None:
        return ""
    return f"**{ratio:.2f}**" if ratio > most else f"{ratio:.2f}"


def _summary(rows: list[Row]) -> str:
    """How many cells hold each bound."""
    said = {
        "peer": f"at most {PEER} of the best peer, allreduce less",
        "sketch": f"at most {SKETCH:.1f} of the sketch",
        "ordinary": "symmetric no slower than ordinary",
        "limit": f"symmetric at most {LIMIT} of the limit", "runs": f"ten runs within {RUNS}",
    }  # fmt: skip
    found: dict[str, list[bool]] = {name: [] for name in said}
    for row in rows:
        for nbytes in _sizes(row):
            for name, (ratio, most) in ratios(row, nbytes).items():
                if ratio is not None:
                    found[name].append(ratio <= most)
    texts = [f"{said[name]}: {sum(held)} of {len(held)}" for name, held in found.items() if held]
    return "Cells that hold their bound: " + "; ".join(texts) + "."
