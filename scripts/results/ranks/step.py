"""One rank of caffe_gpi.py: training steps of a real model, exchanged in one of several ways.

RANK=0 WORLD_SIZE=2 python step.py DIRECTORY     # has settings.json; rank 0 writes result.json
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.nn.parallel import DistributedDataParallel

import weft

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
# Options of GradientSync by the name of the variant.
SYNCS: dict[str, dict[str, Any]] = {
    "phases": {"overlap": False, "wait": "step", "priority": False},
    "allreduce, waits in step": {"wait": "step"},
    "allreduce": {},
    "allreduce, one lane": {"priority": False},
    "allreduce, bf16": {"wire": "bfloat16"},
    "sharded": {"strategy": "sharded"},
    "tree": {"strategy": "tree", "update": "backward"},
    "tree, updates at step": {"strategy": "tree"},
    "tree, as in the document": {"strategy": "flat_tree", "update": "backward"},
}


def network(name: str) -> nn.Module:
    """Equal on all ranks, without dropout."""
    torch.manual_seed(0)
    sys.path.insert(0, str(EXAMPLES / ("lenet" if name == "lenet" else "alexnet")))
    if name == "lenet":
        from model import lenet

        return lenet()
    from models import MODELS

    return MODELS[name](0.0)


def in_bf16(state: Any, bucket: Any) -> Any:
    """Torch's hook, which DDP refuses on CPUs by its name."""
    return bf16_compress_hook(state, bucket)


class Steps:
    """A model, its optimizer, and how the ranks exchange gradients."""

    def __init__(self, net: nn.Module, how: str) -> None:
        self.net = self.inner = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
        self.sync = None
        if how.startswith("DDP"):
            self.net = DistributedDataParallel(net, gradient_as_bucket_view=True)
            if "bf16" in how:
                self.net.register_comm_hook(None, in_bf16)
        elif how in SYNCS:
            options = dict(SYNCS[how])
            comm = weft.Communicator.from_group(wire=options.pop("wire", ""))
            self.sync = weft.train.GradientSync(net, self.optimizer, group=comm, **options)

    def run(self, images: torch.Tensor, labels: torch.Tensor, count: int) -> float:
        """The seconds of `count` steps, with all their updates."""
        trained = self.sync or self.optimizer
        begin = time.perf_counter()
        for _ in range(count):
            nn.functional.cross_entropy(self.net(images), labels).backward()
            trained.step()
            trained.zero_grad()
        if self.sync:
            self.sync.finish()
        return time.perf_counter() - begin

    def digest(self) -> str:
        """Of all parameters."""
        content = b"".join(p.detach().numpy().tobytes() for p in self.inner.parameters())
        return hashlib.sha256(content).hexdigest()


def gathered(mine: Any, size: int) -> list[Any]:
    """Everybody's."""
    every = [mine] * size
    if size > 1:
        dist.all_gather_object(every, mine)
    return every


def main() -> None:
    directory = Path(sys.argv[1])
    asked = json.loads((directory / "settings.json").read_text())
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    if size > 1:
        backend = "gloo" if "Gloo" in asked["how"] else "weft"
        dist.init_process_group(
            backend, init_method=f"file://{directory}/store", rank=rank, world_size=size
        )
    net = network(asked["model"])
    steps = Steps(net, asked["how"])
    generator = torch.Generator().manual_seed(rank)
    shape = (1, 28, 28) if asked["model"] == "lenet" else (3, asked["pixels"], asked["pixels"])
    images = torch.randn(asked["batch"], *shape, generator=generator)
    labels = torch.randint(0, 10, (asked["batch"],), generator=generator)
    steps.run(images, labels, 2)
    blocks = []
    for _ in range(asked["blocks"]):
        gathered(rank, size)  # ranks begin together
        blocks.append(max(gathered(steps.run(images, labels, asked["steps"]), size)))
    digests = set(gathered(steps.digest(), size))
    if len(digests) > 1 and asked["how"] != "none":
        raise AssertionError(f"{asked['how']}: ranks ended with different parameters")
    if steps.sync:
        steps.sync.close()
    if rank == 0:
        nbytes = sum(p.numel() * p.itemsize for p in net.parameters())
        result = {"seconds": [block / asked["steps"] for block in blocks], "bytes": nbytes}
        (directory / "result.json").write_text(json.dumps(result | asked))
    if size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
