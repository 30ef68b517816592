"""One rank of step.py: what its measurements run on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from exchanges import Steps

Row = dict[str, Any]


class Rank:
    """What a part of the page runs on."""

    def __init__(self, directory: Path, asked: Row) -> None:
        self.directory, self.asked = directory, asked
        self.rank = int(os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
        self.size: int = asked["ranks"]
        self.how: str = asked.get("how", "none")

    def batch(self, rank: int, number: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """A rank's images and labels of one step."""
        count = max(1, self.asked["images"] // self.size)
        generator = torch.Generator().manual_seed(1000 * number + rank)
        lenet = self.asked["model"] == "lenet"
        shape = (1, 28, 28) if lenet else (3, self.asked["pixels"], self.asked["pixels"])
        images = torch.randn(count, *shape, generator=generator)
        return images, torch.randint(0, 10, (count,), generator=generator)

    def gathered(self, mine: Any) -> list[Any]:
        """Everybody's."""
        every = [mine] * self.size
        if self.size > 1:
            dist.all_gather_object(every, mine)
        return every

    def refuse_different(self, steps: Steps) -> None:
        """Raises if ranks have different parameters."""
        if self.how != "none" and len(set(self.gathered(steps.digest()))) > 1:
            raise AssertionError(f"{self.how}: ranks ended with different parameters")
