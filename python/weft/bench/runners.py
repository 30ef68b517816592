"""One library's side of a case: buffers, and a sample of timed operations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

import weft
from weft import _core
from weft.bench.cases import Case
from weft.bench.patterns import fill, storage


class Runner(Protocol):
    """A library under measurement. `output` is what the last operation wrote, None if nothing."""

    output: np.ndarray | None

    def sample(self, values: np.ndarray, batch: int) -> float:
        """Seconds of one operation, after a common start: the mean of `batch`."""

    def once(self) -> None:
        """One operation, neither rewritten nor timed."""


def _buffer(elements: int | None, case: Case) -> np.ndarray | None:
    if elements is None:
        return None
    make = weft.empty if case.symmetric else np.zeros
    return make(elements, storage(case.dtype))


class CoreRunner:
    """Weft through its C++ interface: the loop of a sample is C++."""

    def __init__(self, comm: weft.Communicator, case: Case) -> None:
        before, after = case.sides(comm.rank)
        self._input = _buffer(before, case)
        self.output = _buffer(after, case)
        self._loop = _core.Loop(
            comm._core, case.collective, self._input, self.output, case.count, case.dtype,
            case.algorithm,
        )  # fmt: skip

    def sample(self, values: np.ndarray, batch: int) -> float:
        """See Runner."""
        return self._loop.sample(values, batch)

    def once(self) -> None:
        """See Runner."""
        self._loop.once()


class TorchRunner:
    """Any backend of torch.distributed, on preallocated tensors."""

    def __init__(self, comm: weft.Communicator, case: Case, group: Any) -> None:
        import torch

        before, after = case.sides(comm.rank)
        self._comm = comm
        self._input = _buffer(before, case)
        self.output = _buffer(after, case)
        if case.collective in ("allreduce", "broadcast", "reduce"):  # in place, as torch has them
            only = self._input if self._input is not None else self.output
            self._input, self.output = (only if before else None), (only if after else None)
        as_tensor = lambda array: (  # noqa: E731
            None if array is None else torch.from_numpy(array).view(getattr(torch, case.dtype))
        )
        self._operate = _operation(
            case, comm.rank, as_tensor(self._input), as_tensor(self.output), group
        )

    def sample(self, values: np.ndarray, batch: int) -> float:
        """See Runner."""
        if self._input is not None:
            fill(self._input, values, 0)
        self._comm.barrier()
        start = time.perf_counter()
        self._operate()
        for shift in range(1, batch):
            if self._input is not None:
                fill(self._input, values, shift)
            self._operate()
        return (time.perf_counter() - start) / batch

    def once(self) -> None:
        """See Runner."""
        self._operate()


def _operation(case: Case, rank: int, x: Any, out: Any, group: Any) -> Callable[[], Any]:
    """The call of torch.distributed for a case."""
    import torch.distributed as dist

    n = case.ranks
    tensor = out if x is None else x
    # New names of torch 2.13 for the same functions.
    gather_all = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    reduce_own = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    if case.collective == "gather":
        parts = None if out is None else list(out.chunk(n))
        return lambda: dist.gather(x, parts, 0, group=group)
    if case.collective == "scatter":
        parts = None if x is None else list(x.chunk(n))
        return lambda: dist.scatter(out, parts, 0, group=group)
    if case.collective == "sendrecv":

        def exchange() -> None:
            received = dist.irecv(out, (rank - 1) % n, group=group)
            sent = dist.isend(x, (rank + 1) % n, group=group)
            sent.wait()
            received.wait()

        return exchange
    return {
        "allreduce": lambda: dist.all_reduce(tensor, group=group),
        "broadcast": lambda: dist.broadcast(tensor, 0, group=group),
        "reduce": lambda: dist.reduce(tensor, 0, group=group),
        "allgather": lambda: gather_all(out, x, group=group),
        "reduce_scatter": lambda: reduce_own(out, x, group=group),
        "alltoall": lambda: dist.all_to_all_single(out, x, group=group),
        "barrier": lambda: dist.barrier(group=group),
    }[case.collective]
