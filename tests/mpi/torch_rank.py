"""One rank of DDP on Weft, over the fabric that WEFT_FABRIC names, started by mpirun or oshrun."""

from __future__ import annotations

import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import weft


def train(model: torch.nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def main() -> None:
    weft.launch_environment()
    dist.init_process_group("weft")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.Linear(200, 10)).double()
    x = torch.randn(4 * ranks, 300).double()
    alone = train(copy.deepcopy(model), x)
    together = train(DistributedDataParallel(model), x[rank::ranks])
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    dist.destroy_process_group()
    print(f"rank {rank}: ok\n", end="", flush=True)


if __name__ == "__main__":
    main()
