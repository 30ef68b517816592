"""A linear map that is cut by its outputs over a model group, and the exchanges that it needs.

It is the column-parallel layer of Megatron-LM (Shoeybi et al., 2019, arXiv:1909.08053, section 3)
with its output gathered, and so MLSL's activation exchange for one operation. Every rank of the
model group has the whole input x, and some rows of the weight:

    forward     y = x W^T + b for its own rows        allgather: everybody has all of y
    backward    dx = dy W for its own rows            allreduce: everybody has the sum
"""

import contextlib
import statistics
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn

from weft.train import Distribution


class Exchanges:
    """How long each exchange took on this rank, waiting for the others included."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}
        self.seconds: dict[str, list[float]] = {}

    @contextlib.contextmanager
    def timed(self, name: str, nbytes: int) -> Iterator[None]:
        """Notes the time of the block. `nbytes`: of the whole message, as `weft bench` counts."""
        start = time.perf_counter()
        yield
        self.bytes[name] = nbytes
        self.seconds.setdefault(name, []).append(time.perf_counter() - start)

    def report(self) -> dict[str, dict[str, float]]:
        """Bytes, calls and the median time in microseconds of each exchange."""
        return {
            name: {
                "bytes": self.bytes[name],
                "calls": len(times),
                "microseconds": 1e6 * statistics.median(times),
            }
            for name, times in self.seconds.items()
        }

    def total(self) -> float:
        """Seconds in all exchanges together."""
        return sum(sum(times) for times in self.seconds.values())


class SumOfGradients(torch.autograd.Function):
    """Megatron's f: the input itself; its gradient is summed over the model group."""

    @staticmethod
    def forward(ctx, x, group, exchanges):
        ctx.group, ctx.exchanges = group, exchanges
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone(memory_format=torch.contiguous_format)
        with ctx.exchanges.timed("ip1 input gradient, allreduce", gradient.nbytes):
            dist.all_reduce(gradient, group=ctx.group)
        return gradient, None, None


class GatheredOutput(torch.autograd.Function):
    """Megatron's g: all ranks' columns side by side; a rank's gradient is that of its columns."""

    @staticmethod
    def forward(ctx, part, group, exchanges):
        ctx.rank, ctx.columns = dist.get_rank(group), part.shape[1]
        parts = part.new_empty(dist.get_world_size(group), *part.shape)
        with exchanges.timed("ip1 output, allgather", parts.nbytes):
            dist.all_gather(list(parts), part.contiguous(), group=group)
        return parts.transpose(0, 1).reshape(len(part), -1)

    @staticmethod
    def backward(ctx, gradient):
        first = ctx.rank * ctx.columns
        return gradient[:, first : first + ctx.columns], None, None


class ColumnLinear(nn.Module):
    """This rank's part of a linear map. Input and output are whole, and equal in a model group."""

    def __init__(self, whole: nn.Linear, distribution: Distribution, exchanges: Exchanges) -> None:
        """Takes this rank's rows of `whole`, which is the same on all ranks."""
        super().__init__()
        parts, rank = distribution.model_size, distribution.model_index
        if whole.out_features % parts:
            raise SystemExit(f"{parts} ranks cannot share {whole.out_features} outputs evenly")
        self.weight = nn.Parameter(whole.weight.detach().chunk(parts)[rank].clone())
        self.bias = nn.Parameter(whole.bias.detach().chunk(parts)[rank].clone())
        self.group, self.exchanges = distribution.model_group, exchanges

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (batch, inputs) to (batch, outputs of the whole map)."""
        x = SumOfGradients.apply(x, self.group, self.exchanges)
        part = nn.functional.linear(x, self.weight, self.bias)
        return GatheredOutput.apply(part, self.group, self.exchanges)


def joined(part: torch.Tensor, distribution: Distribution) -> torch.Tensor:
    """The rows of all ranks of the model group."""
    parts = [torch.empty_like(part) for _ in range(distribution.model_size)]
    dist.all_gather(parts, part.detach().contiguous(), group=distribution.model_group)
    return torch.cat(parts)
