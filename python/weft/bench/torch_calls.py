"""torch.distributed's side of a case: tensors, and a sample of timed operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

import weft
from weft.bench.cases import Case
from weft.bench.patterns import fill, storage


class TorchCalls:
    """A case on preallocated tensors. `output` is what the last operation wrote, None if nothing.

    `comm` is where ranks meet before a sample.
    """

    def __init__(self, comm: weft.Communicator, case: Case) -> None:
        before, after = case.sides(comm.rank)
        self._comm = comm
        self._input = _buffer(before, case)
        self.output = _buffer(after, case)
        if case.traits.in_one_buffer or case.collective == "reduce":  # torch has no other reduce
            only = self._input if self._input is not None else self.output
            self._input, self.output = (only if before else None), (only if after else None)
        as_tensor = lambda array: (  # noqa: E731
            None if array is None else torch.from_numpy(array).view(getattr(torch, case.dtype))
        )
        self._operate = _operation(case, comm.rank, as_tensor(self._input), as_tensor(self.output))

    def sample(self, values: np.ndarray, batch: int) -> float:
        """Seconds of one operation, after a common start: the mean of `batch`."""
        inputs = self._inputs(values, batch)
        self._comm.barrier()
        start = time.perf_counter()
        self._operate()
        for following in inputs:
            if self._input is not None and following is not None:
                np.copyto(self._input, following)
            self._operate()
        return (time.perf_counter() - start) / batch

    def _inputs(self, values: np.ndarray, batch: int) -> list[np.ndarray | None]:
        """Writes the first operation's input; those of the others of a batch, to be copied."""
        if self._input is None:
            return [None] * (batch - 1)
        following: list[np.ndarray | None] = []
        for shift in range(1, batch):
            fill(self._input, values, shift)
            following.append(self._input.copy())
        fill(self._input, values, 0)
        return following

    def once(self) -> None:
        """One operation, neither rewritten nor timed."""
        self._operate()


def _buffer(elements: int | None, case: Case) -> np.ndarray | None:
    if elements is None:
        return None
    make = weft.empty if case.symmetric else np.empty
    buffer = make(elements, storage(case.dtype))
    buffer.fill(0)  # its pages are there before an operation is timed
    return buffer


def _operation(case: Case, rank: int, x: Any, out: Any) -> Callable[[], Any]:
    """The call of torch.distributed for a case."""
    n = case.ranks
    tensor = out if x is None else x
    # New names of torch 2.13 for the same functions.
    gather_all = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    reduce_own = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    if case.collective == "gather":
        parts = None if out is None else list(out.chunk(n))
        return lambda: dist.gather(x, parts, 0)
    if case.collective == "scatter":
        parts = None if x is None else list(x.chunk(n))
        return lambda: dist.scatter(out, parts, 0)
    if case.collective == "sendrecv":

        def exchange() -> None:
            received = dist.irecv(out, (rank - 1) % n)
            sent = dist.isend(x, (rank + 1) % n)
            sent.wait()
            received.wait()

        return exchange
    if case.parts:
        return _in_parts(tensor.split(case.parts), case.together)
    return {
        "allreduce": lambda: dist.all_reduce(tensor),
        "broadcast": lambda: dist.broadcast(tensor, 0),
        "reduce": lambda: dist.reduce(tensor, 0),
        "allgather": lambda: gather_all(out, x),
        "reduce_scatter": lambda: reduce_own(out, x),
        "alltoall": lambda: dist.all_to_all_single(out, x),
        "barrier": lambda: dist.barrier(),
    }[case.collective]


def _in_parts(parts: Sequence[Any], together: bool) -> Callable[[], None]:
    """Allreduces of the parts, one after the other or all at once."""

    def one_after_the_other() -> None:
        for part in parts:
            dist.all_reduce(part)

    def all_at_once() -> None:
        for work in [dist.all_reduce(part, async_op=True) for part in parts]:
            work.wait()

    return all_at_once if together else one_after_the_other
