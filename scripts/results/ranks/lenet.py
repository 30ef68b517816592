"""One rank of a training of LeNet, for openshmem_mlsl.py: `python lenet.py DIRECTORY`.

It does what the document's scaling layer does. All parameters are broadcast from rank 0. In
backward, the allreduce of each gradient starts as soon as the gradient exists; the update waits for
all of them. DIRECTORY/settings.json has the settings; rank 0 writes DIRECTORY/result.json.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "lenet"))

import numpy as np
import torch
import train
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import weft

import data
import model

BLOCK = 10  # iterations, with the exchange or without


@dataclass(frozen=True)
class Settings:
    """What a training is."""

    ranks: int
    fabric: str  # empty for one process
    seed: int
    iterations: int
    every: int  # iterations between two looks at the held-out digits
    pairs: int  # blocks with the exchange, each beside one without
    batch: int  # records of all ranks together
    algorithm: str = ""
    reproducible: bool = False


class Training:
    """LeNet, its digits and the exchange of its gradients, on one rank."""

    def __init__(self, settings: Settings, comm: weft.Communicator | None) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(settings.seed)
        self.comm, self.ranks = comm, settings.ranks
        self.rank = comm.rank if comm else 0
        digits, self.held_out = data.digits()
        self.batches = self._batches(data.Shifted(digits, settings.seed), settings)
        self.net = model.lenet()
        self.optimizer = model.CaffeSGD(self.net.named_parameters())
        self.schedule = model.inverse_decay(self.optimizer)
        self.algorithm = settings.algorithm or None
        self.exchanges = comm is not None
        self.under_way: list[weft.Request] = []
        for parameter in self.net.parameters():
            if comm:
                comm.broadcast(parameter.data, out=parameter.data)
        self.hooks = [
            parameter.register_post_accumulate_grad_hook(self._start_exchange)
            for parameter in self.net.parameters()
        ]

    def step(self, batch: list[torch.Tensor]) -> float:
        """One iteration; this rank's loss."""
        images, labels = batch
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.net(images), labels)
        (loss / self.ranks).backward()  # so that the gradients are summed up
        for request in self.under_way:
            request.wait()
        self.under_way.clear()
        self.optimizer.step()
        return loss.item()

    def run(self, iterations: int) -> tuple[float, float]:
        """Seconds, and the mean loss of this rank."""
        self.meet()
        start = time.perf_counter()
        losses = []
        for _ in range(iterations):
            losses.append(self.step(next(self.batches)))
            self.schedule.step()
        self.meet()
        return time.perf_counter() - start, statistics.mean(losses)

    def share(self, pairs: int) -> float:
        """The share of an iteration that goes away without the exchange.

        Blocks with and without it alternate; the median of the pairs. Ranks drift apart in it.
        """
        if not self.comm or not pairs:
            return 0.0
        batch = next(self.batches)

        def block(exchanges: bool) -> float:
            self.exchanges = exchanges
            self.meet()
            start = time.perf_counter()
            for _ in range(BLOCK):
                self.step(batch)
            self.meet()
            return time.perf_counter() - start

        taken = [(block(True), block(False)) for _ in range(pairs + 1)][1:]
        return statistics.median(1 - without / exchanged for exchanged, without in taken)

    def accuracy(self) -> float:
        """The share of the held-out digits that is recognised."""
        return train.accuracy(self.net, self.held_out, ranks=1, rank=0)

    def hash(self) -> str:
        """Of all parameters.

        Raises:
            RuntimeError: ranks differ.
        """
        content = b"".join(p.detach().numpy().tobytes() for p in self.net.parameters())
        mine = hashlib.sha256(content).digest()
        if self.comm:
            everybody = self.comm.allgather(np.frombuffer(mine, np.uint8))
            if len(np.unique(everybody, axis=0)) != 1:
                raise RuntimeError("the ranks have ended with different parameters")
        return mine.hex()

    def close(self) -> None:
        """Removes the hooks, which hold the communicator."""
        for hook in self.hooks:
            hook.remove()

    def meet(self) -> None:
        """Waits for all ranks."""
        if self.comm:
            self.comm.barrier()

    def _start_exchange(self, parameter: torch.Tensor) -> None:
        if self.comm is None or not self.exchanges:
            return
        gradient = parameter.grad
        self.under_way.append(
            self.comm.allreduce(gradient, out=gradient, algorithm=self.algorithm, async_op=True)
        )

    def _batches(self, digits: data.Shifted, settings: Settings) -> Iterator[list[torch.Tensor]]:
        """Without end. Rank r reads records r, r + ranks, r + 2 ranks, ... of a common order."""
        sampler = DistributedSampler(
            digits, self.ranks, self.rank, shuffle=True, seed=settings.seed
        )
        own = settings.batch // self.ranks
        loader = DataLoader(digits, own, sampler=sampler, drop_last=True)
        epoch = 0
        while True:
            sampler.set_epoch(epoch)
            digits.set_epoch(epoch)
            yield from loader
            epoch += 1


def trained(settings: Settings, comm: weft.Communicator | None) -> dict[str, Any]:
    """A training, and what came of it."""
    with closing(Training(settings, comm)) as first:
        first.run(3)  # first calls are slow
    with closing(Training(settings, comm)) as training:
        return result(settings, training)


def result(settings: Settings, training: Training) -> dict[str, Any]:
    """Trains to the end."""
    curve, seconds = [], 0.0
    for done in range(settings.every, settings.iterations + 1, settings.every):
        taken, loss = training.run(settings.every)
        seconds += taken
        curve.append([done, loss, training.accuracy()])
    return {
        **asdict(settings), "seconds": seconds, "curve": curve, "accuracy": curve[-1][-1],
        "hash": training.hash(), "share": training.share(settings.pairs),
    }  # fmt: skip


def main() -> None:
    """Trains as the settings say."""
    directory = Path(sys.argv[1])
    settings = Settings(**json.loads((directory / "settings.json").read_text()))
    if settings.ranks == 1:
        found = trained(settings, None)
    else:
        how = {"fabric": settings.fabric, "reproducible": settings.reproducible, "tuning": "none"}
        with weft.init(timeout=60, **how) as comm:
            if comm.size != settings.ranks:
                raise RuntimeError(f"{comm.size} ranks, not {settings.ranks}")
            found = trained(settings, comm)
            if comm.rank > 0:
                return
    (directory / "result.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
