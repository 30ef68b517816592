"""One case of a benchmark: a collective at a size, and what its numbers mean."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from weft.communicator import Communicator
from weft.traits import TRAITS, CollectiveTraits

ITEM_BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4,
    "uint64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
    "complex64": 8, "complex128": 16, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip

_BATCH = 64
_BATCHED_BYTES = 4096  # of an operation, where each rank has a core
_BATCH_BYTES = 64 << 10
_CROWDED_BATCH_BYTES = 4 << 20


@dataclass(frozen=True)
class Case:
    """The timed call, equal on all ranks. The root is rank 0, the reduction a sum."""

    collective: str
    count: int  # elements of one block: the `count` of the call
    ranks: int
    dtype: str
    symmetric: bool = False
    algorithm: str = ""
    # An allreduce is done in parts of so many elements, one after the other. Their sum is `count`.
    parts: tuple[int, ...] = ()
    together: bool = False  # all parts are started before the first is waited for

    @classmethod
    def sized(cls, collective: str, wanted: int, ranks: int, dtype: str, **more: Any) -> Case:
        """Of `wanted` bytes of the whole message, as nccl-tests counts; at least one element."""
        traits = TRAITS[collective]
        blocks = ranks if traits.input_by_rank or traits.output_by_rank else 1
        count = max(1, wanted // (ITEM_BYTES[dtype] * blocks)) if traits.moves_data else 0
        return cls(collective, count, ranks, dtype, **more)

    @property
    def traits(self) -> CollectiveTraits:
        """What the collective is."""
        return TRAITS[self.collective]

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return ITEM_BYTES[self.dtype]

    @property
    def bytes(self) -> int:
        """Bytes of the whole message that a rank contributes or receives."""
        return max(self.elements()) * self.item

    @property
    def batch(self) -> int:
        """Operations of one sample.

        A clock cannot resolve a single small operation. Where ranks outnumber cores, the time of a
        single one depends on the order in which the system lets the ranks leave their meeting.
        """
        crowded = self.ranks > len(os.sched_getaffinity(0))
        if self.bytes > _BATCHED_BYTES and not crowded:
            return 1
        whole = _CROWDED_BATCH_BYTES if crowded else _BATCH_BYTES
        return max(1, min(_BATCH, whole // max(1, self.bytes)))

    @property
    def bus_factor(self) -> float:
        """Bus bandwidth over algorithm bandwidth, as nccl-tests define it."""
        if self.collective == "allreduce":
            return 2 * (self.ranks - 1) / self.ranks
        if self.traits.input_by_rank or self.traits.output_by_rank:
            return (self.ranks - 1) / self.ranks
        return 1.0

    def algorithm_of(self, comm: Communicator) -> str | None:
        """The algorithms that Weft runs for it; None for point to point, which has no choice."""
        if self.traits.is_pair:
            return None
        return "+".join(
            comm.algorithm_for(self.collective, count, self.dtype, algorithm=self.algorithm)
            for count in self.parts or [self.count]
        )

    def elements(self) -> tuple[int, int]:
        """Elements of the larger side's input and output."""
        inside = self.ranks if self.traits.input_by_rank else 1
        outside = self.ranks if self.traits.output_by_rank else 1
        return self.count * inside, self.count * outside

    def sides(self, rank: int) -> tuple[int | None, int | None]:
        """Elements of this rank's input and output; None if it has none."""
        before, after = self.elements()
        if self.traits.is_pair:  # timed in a ring: each rank sends to the next
            return before, after
        return (
            before if self.traits.has_input(rank) else None,
            after if self.traits.has_output(rank) else None,
        )
