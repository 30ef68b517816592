"""DLRM's blocking steps, with collectives that carry one element to each rank and no more.

What such a step waits for is not bytes: ranks wait for one another, and for a core.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from dlrm_steps import Row, Steps


class EmptySteps(Steps):
    """Nothing is learnt. Shortens torch's own functions, so no other steps can run beside it."""

    def __init__(self, asked: Row, rank: int, ranks: int) -> None:
        super().__init__(asked, rank, ranks)
        torch.set_flush_denormal(True)  # what an exchange left may be any bits, and no slow ones
        allreduce, alltoall = dist.all_reduce, dist.all_to_all_single

        def one_element(whole: torch.Tensor) -> None:
            allreduce(whole[:1])

        def one_element_each(
            output: torch.Tensor, source: torch.Tensor, *_: list[int], **how: Any
        ) -> dist.Work:
            return alltoall(output[:ranks], source[:ranks], **how)

        dist.all_reduce, dist.all_to_all_single = one_element, one_element_each
