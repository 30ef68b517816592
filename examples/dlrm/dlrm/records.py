"""One minibatch, and what a rank needs of it."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import torch

from weft.errors import InvalidArgument

from dlrm.tables import Split


class Records(Protocol):
    """A whole minibatch, the same on all ranks. Parts are made when they are asked for."""

    def dense(self) -> torch.Tensor:
        """(minibatch, features), float32."""

    def labels(self) -> torch.Tensor:
        """(minibatch,), float32: 0 or 1."""

    def indices(self, table: int) -> torch.Tensor:
        """(minibatch, lookups), int64."""


class Source(Protocol):
    """Where minibatches come from."""

    def records(self, step: int) -> Records:
        """The minibatch of one step. The same step has the same records."""


@dataclasses.dataclass(frozen=True)
class Minibatch:
    """A rank's part of a minibatch."""

    dense: torch.Tensor  # (records, features) of my records
    owned: list[torch.Tensor]  # (minibatch, lookups) of each of my tables: all records
    shared: list[torch.Tensor]  # (records, lookups) of each table that all ranks have: my records
    labels: torch.Tensor  # (records,) of my records


def part(records: Records, split: Split, dtype: torch.dtype) -> Minibatch:
    """What this rank needs. Rank r has the r-th run of records.

    Raises:
        InvalidArgument: the ranks do not divide the minibatch.
    """
    labels = records.labels()
    if len(labels) % split.ranks:
        raise InvalidArgument(
            f"rank {split.rank}: a minibatch of {len(labels)} records does not divide into "
            f"{split.ranks} ranks: choose a multiple of {split.ranks}"
        )
    count = len(labels) // split.ranks
    mine = slice(split.rank * count, (split.rank + 1) * count)
    return Minibatch(
        records.dense()[mine].to(dtype),
        [records.indices(table) for table in split.mine],
        [records.indices(table)[mine] for table in split.shared],
        labels[mine],
    )
