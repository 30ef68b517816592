"""The ranks that a function of this package works over: a communicator or a torch process group."""

from __future__ import annotations

import json
from typing import Any, Protocol

import numpy as np

from weft.communicator import Communicator
from weft.errors import InvalidArgument
from weft.process_group import process_group


class Group(Protocol):
    """What both kinds of group do here. Tensors are contiguous and in the CPU's memory."""

    rank: int
    size: int

    def allgather(self, mine: np.ndarray) -> np.ndarray:
        """All ranks' `mine`, in rank order: shape (size, *mine.shape)."""

    def broadcast(self, tensor: Any, root: int) -> None:
        """The root's tensor on every rank, in place."""

    def sum_at(self, tensor: Any, root: int) -> None:
        """The sum of all ranks' tensors on the root, in place. Elsewhere it is then undefined."""


class CommunicatorGroup:
    """The ranks of a `weft.Communicator`."""

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm
        self.rank, self.size = comm.rank, comm.size

    def allgather(self, mine: np.ndarray) -> np.ndarray:
        return self.comm.allgather(mine)

    def broadcast(self, tensor: Any, root: int) -> None:
        self.comm.broadcast(tensor, root, out=tensor)

    def sum_at(self, tensor: Any, root: int) -> None:
        self.comm.reduce(tensor, "sum", root, out=tensor if self.rank == root else None)


class ProcessGroup:
    """The ranks of a process group of `torch.distributed`."""

    def __init__(self, group: Any) -> None:
        import torch.distributed as dist

        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)

    def allgather(self, mine: np.ndarray) -> np.ndarray:
        import torch
        import torch.distributed as dist

        every = np.empty((self.size, *mine.shape), mine.dtype)
        dist.all_gather(list(torch.from_numpy(every)), torch.from_numpy(mine), group=self.group)
        return every

    def broadcast(self, tensor: Any, root: int) -> None:
        import torch.distributed as dist

        dist.broadcast(tensor, group=self.group, group_src=root)

    def sum_at(self, tensor: Any, root: int) -> None:
        import torch.distributed as dist

        dist.reduce(tensor, group=self.group, group_dst=root)


def group_of(group: Any, who: str) -> CommunicatorGroup | ProcessGroup:
    """`group` as its user gave it: a communicator, a process group, or None for torch's default.

    Raises `InvalidArgument`, which starts with `who`.
    """
    if isinstance(group, Communicator):
        return CommunicatorGroup(group)
    return ProcessGroup(process_group(group, who, "group=weft.init()"))


def exchange(group: Group, mine: Any) -> list[Any]:
    """Everyone's `mine`, in rank order: anything that JSON takes. Two small allgathers."""
    text = np.frombuffer(json.dumps(mine).encode(), np.uint8)
    sizes = group.allgather(np.array([text.size], np.int64))[:, 0]
    padded = np.zeros(sizes.max(), np.uint8)
    padded[: text.size] = text
    every = group.allgather(padded)
    return [
        json.loads(row[:size].tobytes()) for row, size in zip(every, sizes.tolist(), strict=True)
    ]


def raise_first(faults: list[str], who: str) -> None:
    """Raises on every rank what the first rank with a fault has against its own arguments.

    faults: one a rank, empty if the rank's arguments are right; equal on all ranks.
    """
    for rank, fault in enumerate(faults):
        if fault:
            raise InvalidArgument(f"rank {rank}: {who}: {fault}")
