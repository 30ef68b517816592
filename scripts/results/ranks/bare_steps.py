"""Steps of DLRM that compute alone, while plain TCP moves the bytes of their collectives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from bare_tcp import BareTcp
from dlrm_pages.figures import alltoall_bytes
from dlrm_steps import Row, Steps, description

FAKE = "fake"  # torch's backend whose collectives do nothing


class BareSteps(Steps):
    """Computes alone, while plain TCP moves what a step's collectives would: nothing is learnt.

    Blocking, the bytes leave when all is computed; else they may travel during the whole step,
    sooner than those of any collective could.
    """

    def __init__(self, asked: Row, rank: int, ranks: int) -> None:
        super().__init__(asked, rank, ranks)
        self.rank, self.blocking, self._met = rank, asked["blocking"], 0
        torch.set_flush_denormal(True)  # what an exchange left may be any bits, and no slow ones
        self.store = dist.FileStore(str(Path(asked["directory"]) / "store"), ranks)
        sizes = description(self.shape, ranks, self.trainer.dtype.itemsize)
        hosts = len(set(asked["addresses"]))
        exchanges = alltoall_bytes({"turn": {"place": asked["place"]}, **sizes})[1]
        # An allreduce over `hosts` links, and both exchanges, by all ranks of a host.
        moved = sizes["gradient_bytes"] * 2 * (hosts - 1) / hosts + exchanges
        partner = (rank + ranks // 2) % ranks
        address = asked["addresses"][rank]
        if not self.blocking:
            # Without a hook DDP wants a result that this backend does not have.
            ddp = self.trainer.model.dense
            ddp.register_comm_hook(None, lambda _, bucket: _ended(bucket.buffer()))
        self.wire = BareTcp(self.store, address, rank, partner, round(moved * hosts / ranks))

    def gathered(self, mine: Any) -> list[Any]:
        """By the store, and then over the wire, since a store's clients look now and then."""
        self._met += 1
        self.store.set(f"{self._met} {self.rank}", json.dumps(mine))
        keys = [f"{self._met} {rank}" for rank in range(self.ranks)]
        every = [json.loads(self.store.get(key)) for key in keys]
        self.wire.meet()
        return every

    def step(self, batch: Any) -> None:
        """One step, and its bytes."""
        watch = self.trainer.stopwatch
        if not self.blocking:
            self.wire.start()
        self.trainer.step(batch)
        with watch.measure("step"), watch.measure("allreduce"):
            if self.blocking:
                self.wire.start()
            self.wire.wait()


def _ended(result: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
    done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    done.set_result(result)
    return done
