"""float32 weights as their upper 16 bits, a bfloat16, and their lower 16 bits, an int16."""

from __future__ import annotations

import torch


def split(weight: torch.Tensor) -> torch.Tensor:
    """Turns a float32 tensor into its upper halves in place; returns the lower ones, contiguous.

    Drops its gradient, which is of another type.
    """
    # Little-endian, as every supported processor is: the lower half comes first.
    halves = weight.detach().contiguous().view(-1).view(torch.int16).view(-1, 2)
    low = halves[:, 0].clone().view(weight.shape)
    high = halves[:, 1].clone().view(torch.bfloat16).view(weight.shape)
    if not weight.is_contiguous():
        high = torch.empty_like(weight, dtype=torch.bfloat16).copy_(high)
    weight.grad = None
    weight.data = high
    return low


def join(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
    """The float32 tensor of these halves, contiguous."""
    upper = high.detach().contiguous().view(torch.int16)
    return torch.stack([low, upper], dim=-1).view(torch.float32).view(high.shape)
