"""Embedding tables, and which rank owns which."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import torch
from torch import nn

from weft.errors import InvalidArgument

from dlrm.configurations import Configuration

SMALL_ROWS = 2048  # a table with fewer rows may be kept by every rank


@dataclasses.dataclass(frozen=True)
class Split:
    """Which rank owns which tables. The same on all ranks but for `rank`.

    Five tables on two ranks: rank 0 owns tables 0, 1, 2 and rank 1 owns tables 3, 4. Tables in
    `shared` belong to no rank: every rank has a copy, and their gradients are averaged like those
    of the perceptrons.
    """

    rank: int
    owned: tuple[tuple[int, ...], ...]  # tables of each rank
    shared: tuple[int, ...]

    @property
    def mine(self) -> tuple[int, ...]:
        """The tables of this rank."""
        return self.owned[self.rank]

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return len(self.owned)


def split_tables(shape: Configuration, rank: int, ranks: int, share_small: bool = False) -> Split:
    """Gives each rank a contiguous run of tables; the first ranks get one more than the last.

    Raises:
        InvalidArgument: some rank would own no table.
    """
    small = [t for t, rows in enumerate(shape.rows) if share_small and rows < SMALL_ROWS]
    large = [t for t in range(len(shape.rows)) if t not in small]
    if ranks > len(large):
        kind = f"tables of {SMALL_ROWS} rows or more" if share_small else "tables"
        raise InvalidArgument(
            f"rank {rank}: {shape.name} has {len(large)} {kind}, which {ranks} ranks cannot share: "
            f"start at most {len(large)} ranks"
        )
    each, more = divmod(len(large), ranks)
    starts = [r * each + min(r, more) for r in range(ranks + 1)]
    owned = tuple(tuple(large[a:b]) for a, b in pairwise(starts))
    return Split(rank, owned, tuple(small))


class Tables(nn.Module):
    """Some of the model's tables. A lookup sums the embeddings of each record.

    A table's values depend on the seed and on its number only, so any split has the same model.
    """

    def __init__(
        self,
        shape: Configuration,
        numbers: tuple[int, ...],
        seed: int,
        dtype: torch.dtype,
        sparse: bool,
    ) -> None:
        """`sparse`: gradients have the touched rows only."""
        super().__init__()
        self.numbers = numbers
        self.bags = nn.ModuleDict()
        for number in numbers:
            generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
            rows = shape.rows[number]
            weight = torch.empty(rows, shape.dimension)
            weight.uniform_(-math.sqrt(1 / rows), math.sqrt(1 / rows), generator=generator)
            self.bags[str(number)] = nn.EmbeddingBag.from_pretrained(
                weight.to(dtype), freeze=False, mode="sum", sparse=sparse
            )

    def forward(self, indices: list[torch.Tensor]) -> list[torch.Tensor]:
        """Of each table a (records, dimension) tensor, from (records, lookups) indices.

        Raises:
            InvalidArgument: an index is not in its table.
        """
        for number, one in zip(self.numbers, indices, strict=True):
            self._check(number, one)
        bags = self.bags.values()
        return [bag(one) for bag, one in zip(bags, indices, strict=True)]

    def _check(self, number: int, indices: torch.Tensor) -> None:
        rows = self.bags[str(number)].num_embeddings
        low, high = indices.aminmax()
        if low < 0 or high >= rows:
            wrong = int(low if low < 0 else high)
            record = int((indices == wrong).any(dim=1).nonzero()[0])
            raise InvalidArgument(
                f"table {number} has {rows} rows, but record {record} of the minibatch looks up "
                f"row {wrong}: give indices from 0 to {rows - 1}"
            )
