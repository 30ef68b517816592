"""A timeline as a file, and what it says of each layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from weft.errors import InvalidArgument
from weft.train.tracing.recorder import COMMUNICATION, COMPUTE, TRACKS, WAIT, WORKER

_WRITER = "weft.train.timeline"


class RankTrace(NamedTuple):
    """One rank's spans: track, name, begin, end, layers. Nanoseconds of rank 0's clock."""

    steps: int
    clock_error: int
    spans: list[tuple[str, str, float, float, dict[str, int]]]


class Layer(NamedTuple):
    """A layer's communication on one rank in the whole trace, in milliseconds."""

    name: str
    bytes: int
    exposed_ms: float  # the program's thread waited for a collective
    hidden_ms: float  # it did something else


class Slice(NamedTuple):
    """A span of a trace that was read, in microseconds since the first."""

    track: str
    name: str
    begin: float
    end: float
    layers: dict[str, int]


class Trace(NamedTuple):
    """A trace that was read. `slices` has one list for each rank."""

    steps: int
    clock_error_us: list[float]
    slices: list[list[Slice]]

    def total_ms(self, rank: int, track: str) -> float:
        """The time in which a track has a span."""
        spans = [(one.begin, one.end) for one in self.slices[rank] if one.track == track]
        return length(union(spans)) / 1e3

    def layers(self, rank: int) -> list[Layer]:
        """Exposed and hidden communication of each layer, in the order of first sending.

        An instant with several collectives under way counts for the one that ends first. The time
        of a collective with several layers is divided by their bytes. A collective of no known
        layer counts under its own name.
        """
        waits = union([(one.begin, one.end) for one in self.slices[rank] if one.track == WAIT])
        found: dict[str, Layer] = {}
        for one, begin in own_parts(self.slices[rank]):
            exposed = length(common((begin, one.end), waits))
            layers = one.layers or {one.name: 0}
            total = sum(layers.values())
            for name, size in layers.items():
                share = size / total if total else 1 / len(layers)
                old = found.get(name, Layer(name, 0, 0.0, 0.0))
                found[name] = Layer(
                    name, old.bytes + size, old.exposed_ms + share * exposed / 1e3,
                    old.hidden_ms + share * (one.end - begin - exposed) / 1e3,
                )  # fmt: skip
        return list(found.values())


def own_parts(slices: list[Slice]) -> list[tuple[Slice, float]]:
    """Each collective, and from when on it counts: until then one that ends earlier did."""
    sent = sorted((one for one in slices if one.track == COMMUNICATION), key=lambda one: one.end)
    parts, free = [], 0.0
    for one in sent:
        parts.append((one, max(one.begin, min(free, one.end))))
        free = one.end
    return parts


def union(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same time without overlaps, in order."""
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def common(
    span: tuple[float, float], others: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """The parts of a span that lie in one of the others."""
    cut = [(max(span[0], begin), min(span[1], end)) for begin, end in others]
    return [(begin, end) for begin, end in cut if begin < end]


def length(spans: list[tuple[float, float]]) -> float:
    """The sum of their durations."""
    return sum(end - begin for begin, end in spans)


def write_trace(path: str | Path, ranks: list[RankTrace]) -> None:
    """Writes Trace Event JSON: a process for each rank, a thread for each track."""
    zero = min((span[2] for rank in ranks for span in rank.spans), default=0.0)
    events: list[dict[str, Any]] = []
    for number, rank in enumerate(ranks):
        events += _names(number)
        rows: dict[int, float] = {}  # until when a row of communication is taken
        for track, name, begin, end, layers in sorted(rank.spans, key=lambda s: (s[2], -s[3])):
            row = TRACKS.index(track)
            if track == COMMUNICATION:  # slices of one row may not overlap
                row = next(r for r in range(10, 10 + len(rows) + 1) if rows.get(r, begin) <= begin)
                if row not in rows:
                    events.append(_name(number, row, "thread_name", {"name": COMMUNICATION}))
                    events.append(_name(number, row, "thread_sort_index", {"sort_index": row}))
                rows[row] = end
            events.append({
                "ph": "X", "name": name, "cat": track, "pid": number, "tid": row,
                "ts": (begin - zero) / 1e3, "dur": (end - begin) / 1e3, "args": {"layers": layers},
            })  # fmt: skip
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "writer": _WRITER,
            "steps": max(rank.steps for rank in ranks),
            "clock_error_us": [rank.clock_error / 1e3 for rank in ranks],
        },
    }
    Path(path).write_text(json.dumps(document))


def _names(rank: int) -> list[dict[str, Any]]:
    return [
        _name(rank, 0, "process_name", {"name": f"rank {rank}"}),
        _name(rank, 0, "process_sort_index", {"sort_index": rank}),
        _name(rank, TRACKS.index(COMPUTE), "thread_name", {"name": COMPUTE}),
        _name(rank, TRACKS.index(WAIT), "thread_name", {"name": WAIT}),
        _name(rank, TRACKS.index(WORKER), "thread_name", {"name": WORKER}),
    ]


def _name(rank: int, row: int, kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": rank, "tid": row, "args": arguments}


def read_trace(path: str | Path) -> Trace:
    """Reads what `weft.train.timeline` wrote. Raises InvalidArgument if it is something else."""
    try:
        document = json.loads(Path(path).read_text())
        other = document["otherData"]
        if other["writer"] != _WRITER:
            raise KeyError("writer")
        slices: list[list[Slice]] = [[] for _ in other["clock_error_us"]]
        for event in document["traceEvents"]:
            if event["ph"] == "X":
                slices[event["pid"]].append(Slice(
                    event["cat"], event["name"], event["ts"], event["ts"] + event["dur"],
                    event["args"]["layers"],
                ))  # fmt: skip
        return Trace(other["steps"], other["clock_error_us"], slices)
    except OSError as error:
        raise InvalidArgument(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise InvalidArgument(
            f"{path} is no trace of weft.train.timeline: give the file that it wrote"
        ) from None
