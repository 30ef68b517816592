"""The ways to exchange pooled embeddings: by alltoall, by scatter, or by a scatter for each table.

Source: Kalamkar et al., 2020.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from dlrm.exchange import Exchange


class AllToAll(Exchange):
    """One alltoall each way. What arrives is one tensor: the blocks of all ranks in their order."""

    def room(self, sent):
        return [sent[0].new_empty(len(sent[0]) // self.split.ranks * sum(self.widths))]

    def unpack(self, arrived):
        records = len(arrived[0]) // sum(self.widths)
        blocks = arrived[0].split([records * width for width in self.widths])
        return super().unpack([one.view(records, -1) for one in blocks])

    def send(self, sent, arriving):
        return self._run(arriving[0], sent[0].view(-1), back=False)

    def send_back(self, grads, sums):
        return self._run(sums[0].view(-1), grads[0], back=True)

    def _run(self, output: torch.Tensor, source: torch.Tensor, back: bool) -> list[dist.Work]:
        ranks = self.split.ranks
        whole = source if back else output
        records = len(whole) // sum(self.widths)
        many = [records * width for width in self.widths]
        same = [records * self.widths[self.split.rank]] * ranks
        counts = (same, many) if back else (many, same)
        return [dist.all_to_all_single(output, source, *counts, group=self.group, async_op=True)]


class Scatter(Exchange):
    """One scatter from each rank, and one gather to each rank on the way back."""

    def send(self, sent, arriving):
        return [self._scatter(one, sent[0], rank) for rank, one in enumerate(arriving)]

    def send_back(self, grads, sums):
        return [self._gather(one, sums[0], rank) for rank, one in enumerate(grads)]

    def _scatter(self, output: torch.Tensor, mine: torch.Tensor | None, root: int) -> dist.Work:
        parts = list(mine.chunk(self.split.ranks)) if root == self.split.rank else None
        return dist.scatter(output, parts, src=root, group=self.group, async_op=True)

    def _gather(self, source: torch.Tensor, mine: torch.Tensor | None, root: int) -> dist.Work:
        parts = list(mine.chunk(self.split.ranks)) if root == self.split.rank else None
        return dist.gather(source, parts, dst=root, group=self.group, async_op=True)


class ScatterList(Scatter):
    """One scatter for each table, and one gather for each on the way back."""

    def pack(self, pooled):
        return pooled

    def room(self, sent):
        records = len(sent[0]) // self.split.ranks
        return [sent[0].new_empty(records, self.dimension) for _ in self._roots()]

    def unpack(self, arrived):
        return torch.stack(arrived, dim=1)

    def send(self, sent, arriving):
        return self._each(self._scatter, arriving, sent)

    def send_back(self, grads, sums):
        return self._each(self._gather, grads, sums)

    def _each(self, run: Any, every: list[torch.Tensor], mine: Any) -> list[dist.Work]:
        own = iter(mine)
        return [
            run(one, next(own) if root == self.split.rank else None, root)
            for one, root in zip(every, self._roots(), strict=True)
        ]

    def _roots(self) -> list[int]:
        """The owner of each table."""
        return [rank for rank, tables in enumerate(self.split.owned) for _ in tables]


EXCHANGES = {"alltoall": AllToAll, "scatter": Scatter, "scatter_list": ScatterList}
