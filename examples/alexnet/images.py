"""Synthetic images: noise with a class each, the same on every rank and in every run."""

import torch

from models import CLASSES


class Synthetic:
    """`count` images of 3 x size x size, as bytes in memory, and their classes.

    The batches are those of one process, whatever the number of ranks: rank r of n has the r-th
    n-th of each. The order is another one in each epoch.
    """

    def __init__(self, count: int, size: int, seed: int) -> None:
        """Draws all images."""
        chance = torch.Generator().manual_seed(seed)
        self.images = torch.randint(
            0, 256, (count, 3, size, size), dtype=torch.uint8, generator=chance
        )
        self.labels = torch.randint(0, CLASSES, (count,), generator=chance)
        self._seed, self._epoch = seed, -1

    def batch(
        self, step: int, size: int, rank: int, ranks: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """A rank's images and labels of a global batch of this size, at a step from 0 on."""
        share = size // ranks
        first = step * size + rank * share
        rows = torch.stack([self._row(index) for index in range(first, first + share)])
        return self.images[rows].float().div_(127.5).sub_(1.0), self.labels[rows]

    def _row(self, index: int) -> torch.Tensor:
        epoch, place = divmod(index, len(self.labels))
        if epoch != self._epoch:
            chance = torch.Generator().manual_seed(self._seed + 1 + epoch)
            self._epoch, self._order = epoch, torch.randperm(len(self.labels), generator=chance)
        return self._order[place]
