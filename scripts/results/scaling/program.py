"""The step of the hybrid model as a program for weft.simulate_step.

forward    lookup ─► exchange starts ─► bottom ─► exchange ends ─► interaction ─► top
backward   top, a bucket of gradients starts now and then ─► interaction ─► exchange starts
─► bottom, its gradients start ─► exchange ends ─► update of tables
─► gradients end ─► update of perceptrons
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scaling.cases import BUCKET, BYTES, bottom, shape, top
from scaling.sockets import Socket
from weft.steps import Collective, Compute, Operation, Wait

EXCHANGES = ("exchange forward", "exchange backward")


@dataclass(frozen=True)
class Communication:
    """How a backend communicates.

    `lanes`: exchanges have a lane of their own and overtake gradients; else all wait in one line.
    `slowdown`: how many times as long a core computes while something is under way.
    """

    allreduce: str
    alltoall: str
    lanes: bool
    slowdown: float
    blocking: bool = False


def owned(tables: int, ranks: int) -> list[int]:
    """How many tables each rank has: the first ones have one more, as in examples/dlrm."""
    each, more = divmod(tables, ranks)
    return [each + (rank < more) for rank in range(ranks)]


def exchanged(name: str, dtype: str, ranks: int, records: int) -> int:
    """Bytes that a rank sends in an exchange, its part for itself included.

    Every rank sends as much as the one with the most tables.
    """
    one = shape(name)
    return max(owned(len(one.rows), ranks)) * records * ranks * one.dimension * BYTES[dtype]


def programs(
    socket: Socket, ranks: int, records: int, how: Communication
) -> list[Sequence[Operation]]:
    """Of each rank, with `records` for each socket. A rank alone communicates nothing."""
    counts = owned(len(shape(socket.name).rows), ranks)
    of = {tables: _program(socket, tables, ranks, records, how) for tables in set(counts)}
    return [of[tables] for tables in counts]


def _program(
    socket: Socket, tables: int, ranks: int, records: int, how: Communication
) -> list[Operation]:
    start = _Starts(socket, ranks, records, how)
    minibatch, name = ranks * records, socket.name
    low, high = bottom(name), top(name)
    there, back = EXCHANGES
    steps: list[Operation] = [
        Compute(socket.lookup(tables, minibatch), "lookup"),
        *start.exchange(there),
        Compute(sum(socket.layer("forward", records, *layer) for layer in low), "bottom forward"),
        *start.wait(there),
        Compute(socket.interaction("forward", records), "interaction forward"),
        Compute(sum(socket.layer("forward", records, *layer) for layer in high), "top forward"),
        *_backward(socket, "top", high, records, start),
        Compute(socket.interaction("backward", records), "interaction backward"),
        *start.exchange(back),
        *_backward(socket, "bottom", low, records, start),
        *start.wait(back),
        Compute(socket.sparse_update(tables, minibatch), "sparse update"),
    ]
    for bucket in start.buckets:
        steps += start.wait(bucket)
    return [*steps, Compute(socket.dense_update(), "dense update")]


def _backward(
    socket: Socket, which: str, layers: list[tuple[int, int]], records: int, start: _Starts
) -> list[Operation]:
    """From the last layer on. The bottom's first layer needs no gradient of its inputs."""
    found: list[Operation] = []
    waiting = 0
    for number, (inputs, outputs) in reversed([*enumerate(layers)]):
        seconds = socket.layer("weights", records, inputs, outputs)
        if which == "top" or number:
            seconds += socket.layer("inputs", records, inputs, outputs)
        found.append(Compute(seconds, f"{which} backward"))
        waiting += (inputs + 1) * outputs * BYTES[socket.dtype]
        if waiting >= BUCKET or not number:
            found += start.gradients(f"gradients {which} {number}", waiting)
            waiting = 0
    return found


class _Starts:
    """Starts and waits. In blocking steps the wait follows the start at once."""

    def __init__(self, socket: Socket, ranks: int, records: int, how: Communication) -> None:
        self.buckets: list[str] = []
        self._ranks, self._how = ranks, how
        self._bytes = exchanged(socket.name, socket.dtype, ranks, records)
        self._dtype = socket.dtype

    def exchange(self, name: str) -> list[Operation]:
        priority = 1 if self._how.lanes else 0
        return self._started(Collective(name, self._how.alltoall, self._bytes,
                                        dtype=self._dtype, priority=priority))  # fmt: skip

    def gradients(self, name: str, nbytes: int) -> list[Operation]:
        if self._ranks > 1 and not self._how.blocking:
            self.buckets.append(name)
        return self._started(Collective(name, self._how.allreduce, nbytes, dtype=self._dtype))

    def wait(self, name: str) -> list[Operation]:
        """Where an overlapping step waits."""
        return [] if self._ranks == 1 or self._how.blocking else [Wait(name)]

    def _started(self, what: Collective) -> list[Operation]:
        if self._ranks == 1:
            return []
        return [what, Wait(what.name)] if self._how.blocking else [what]
