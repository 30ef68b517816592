"""Calls whose right result is known in every round: for ranks that fail, stop or come late.

    call = Call("allreduce", count=1000, symmetric=True)
    buffers = Buffers(call, comm)
    buffers.fill(3)              # what this rank gives in round 3
    buffers.run(comm)            # raises what the call raises
    buffers.wrong(3)             # "" or where the result is not that of round 3

After a failed call the program has its buffers back: `spoil` stores other numbers into all of
them, and `spoilt` says whether somebody has written there since.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import weft

SPOIL = 99.0
# Results are exact in float32: sums stay far below 2**24.
PERIOD = 1000


@dataclass(frozen=True)
class Call:
    """One collective, or `sendrecv`: to the next rank, from the one before."""

    name: str
    count: int  # elements (float32) of a block
    symmetric: bool = False
    root: int = 0


# name: blocks of the input and of the output on rank r of n with this root, 0: there is none;
# the result from all ranks' inputs.
TABLE = {
    "allreduce": (lambda r, n, root: (1, 1), lambda xs, r, root: sum(xs)),
    "broadcast": (lambda r, n, root: (1, 1), lambda xs, r, root: xs[root]),
    "reduce": (lambda r, n, root: (1, r == root), lambda xs, r, root: sum(xs)),
    "allgather": (lambda r, n, root: (1, n), lambda xs, r, root: np.concatenate(xs)),
    "gather": (lambda r, n, root: (1, n * (r == root)), lambda xs, r, root: np.concatenate(xs)),
    "reduce_scatter": (lambda r, n, root: (n, 1), lambda xs, r, root: block(sum(xs), r, len(xs))),
    "alltoall": (
        lambda r, n, root: (n, n),
        lambda xs, r, root: np.concatenate([block(x, r, len(xs)) for x in xs]),
    ),
    "scatter": (
        lambda r, n, root: (n * (r == root), 1),
        lambda xs, r, root: block(xs[root], r, len(xs)),
    ),
    "sendrecv": (lambda r, n, root: (1, 1), lambda xs, r, root: xs[r - 1]),
}


def block(x, r, n):
    return x.reshape(n, -1)[r]


class Buffers:
    """One rank's input and output of a call."""

    def __init__(self, call: Call, comm: weft.Communicator) -> None:
        self.call, self.rank, self.size = call, comm.rank, comm.size
        make = weft.empty if call.symmetric else np.empty
        self._blocks, self._result = TABLE[call.name]
        gives, gets = self._blocks(self.rank, self.size, call.root)
        self.x = make(gives * call.count, "float32") if gives else None
        self.y = make(gets * call.count, "float32") if gets else None

    def fill(self, number: int) -> None:
        if self.x is not None:
            self.x[:] = self._given(self.rank, number)
        if self.y is not None:
            self.y[:] = -1

    def run(self, comm: weft.Communicator) -> None:
        name, root = self.call.name, self.call.root
        options = {} if name in ("allreduce", "allgather", "alltoall") else {"root": root}
        if name == "sendrecv":
            receive = comm.irecv(self.y, (self.rank - 1) % self.size)
            comm.send(self.x, (self.rank + 1) % self.size)
            receive.wait()
        elif name == "reduce_scatter":
            comm.reduce_scatter(self.x, out=self.y, symmetric=self.call.symmetric)
        else:
            x = self.x if self.x is not None else self.y
            getattr(comm, name)(x, out=self.y, symmetric=self.call.symmetric, **options)

    def wrong(self, number: int) -> str:
        """Where the result is not that of round `number`; empty: nowhere."""
        if self.y is None:
            return ""
        xs = [self._given(rank, number) for rank in range(self.size)]
        wanted = self._result(xs, self.rank, self.call.root)
        differs = np.flatnonzero(self.y != wanted)
        if not len(differs):
            return ""
        at = differs[0]
        return (
            f"{self.call} round {number}: {len(differs)} of {len(wanted)} are wrong, the first at "
            f"{at}: {self.y[at]} instead of {wanted[at]}"
        )

    def spoil(self) -> None:
        for buffer in (self.x, self.y):
            if buffer is not None:
                buffer[:] = SPOIL

    def spoilt(self) -> str:
        """Who wrote into the buffers since spoil(); empty: nobody."""
        for name, buffer in (("input", self.x), ("output", self.y)):
            if buffer is not None and (buffer != SPOIL).any():
                return f"{self.call}: the {name} changed after the call had failed"
        return ""

    def _given(self, rank: int, number: int) -> np.ndarray:
        blocks = self._blocks(rank, self.size, self.call.root)[0]
        if not blocks:
            return np.empty(0, "float32")
        places = np.arange(blocks * self.call.count, dtype="float32")
        return places % PERIOD + 17 * (rank + 1) + number
