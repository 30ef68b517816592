"""One rank of dlrm.py's trainings: `python dlrm_rank.py DIRECTORY`.

DIRECTORY/settings.json says what to do; rank 0 writes DIRECTORY/result.json. Whoever starts the
ranks says in RANK, or in Open MPI's variables, which one this is.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "testing"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dlrm_training as training
import torch
import torch.distributed as dist
from bare_tcp import BareTcp
from dlrm_pages.figures import alltoall_bytes
from torch.testing._internal.distributed.fake_pg import FakeStore

from dlrm.clicks import RandomClicks
from dlrm.configurations import CONFIGURATIONS, Configuration
from dlrm.records import part
from dlrm.tables import split_tables
from dlrm.trainer import Trainer

MINIBATCHES = 4  # different ones, in turns
BARE = "fake"  # torch's backend whose collectives do nothing: plain TCP moves their bytes
Row = dict[str, Any]


def gathered(mine: Any, ranks: int) -> list[Any]:
    """Everybody's."""
    every = [mine] * ranks
    if ranks > 1:
        dist.all_gather_object(every, mine)
    return every


def wire_bytes() -> list[int]:
    """Received and sent so far by this host's eth0, with all headers. Zeros: there is none."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "eth0":
            words = numbers.split()
            return [int(words[0]), int(words[8])]
    return [0, 0]


class Steps:
    """A trainer, and some minibatches."""

    def __init__(self, asked: Row, rank: int, ranks: int) -> None:
        whole = CONFIGURATIONS[asked["config"]].shrink(asked["shrink"])
        self.shape = dataclasses.replace(whole, minibatch=asked["minibatch"])
        self.split = split_tables(self.shape, rank, ranks)
        self.trainer = Trainer(
            self.shape, self.split, lr=0.01, dtype=asked["dtype"], exchange=asked["exchange"],
            blocking=asked["blocking"],
        )  # fmt: skip
        source = RandomClicks(self.shape, seed=1)
        records = (source.records(step) for step in range(MINIBATCHES))
        self.batches = [part(one, self.split, self.trainer.dtype) for one in records]
        self.ranks = ranks

    def gathered(self, mine: Any) -> list[Any]:
        """Everybody's, when all are there."""
        return gathered(mine, self.ranks)

    def step(self, batch: Any) -> None:
        """One step of training."""
        self.trainer.step(batch)

    def block(self, count: int) -> Row:
        """Seconds and bytes of `count` steps, which all ranks begin together. By rank."""
        watch = self.trainer.stopwatch
        watch.seconds.clear()
        self.gathered(None)
        before, begin = wire_bytes(), time.perf_counter()
        for number in range(count):
            self.step(self.batches[number % len(self.batches)])
        took, after = time.perf_counter() - begin, wire_bytes()
        moved = [b - a for a, b in zip(before, after, strict=True)]
        mine = {"took": took, "wire": moved, "watch": dict(watch.seconds)}
        return {"steps": count, "ranks": self.gathered(mine)}

    def steps_in(self, seconds: float, warm: int) -> int:
        """How many steps take about so long, the same on all ranks. `warm`: of two short blocks."""
        self.block(warm)  # first steps are slow
        found = self.block(warm)
        step = max(one["took"] for one in found["ranks"]) / warm
        return max(1, min(200, self.gathered(round(seconds / step))[0]))

    def memory(self) -> Row:
        """Bytes of this rank: its tables, its perceptrons, and the most that was resident."""
        parts = {"tables": self.trainer.model.tables, "perceptrons": self.trainer.model.dense}
        sizes = {
            name: sum(p.numel() * p.itemsize for p in one.parameters())
            for name, one in parts.items()
        }
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        return {**sizes, "numbers": list(self.split.mine), "resident": resident}


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


def steps(asked: Row, rank: int, ranks: int) -> Row:
    """Timed blocks of training steps."""
    running = (BareSteps if asked["backend"] == BARE else Steps)(asked, rank, ranks)
    count = running.steps_in(asked["seconds"] / asked["blocks"], asked["warm"])
    blocks = [running.block(count) for _ in range(asked["blocks"])]
    memory = running.gathered(running.memory())
    running.trainer.close()
    item = running.trainer.dtype.itemsize
    return {"blocks": blocks, "memory": memory, **description(running.shape, ranks, item)}


def description(shape: Configuration, ranks: int, item: int) -> Row:
    """Sizes that figures are counted from. Bytes are of one step."""
    whole = CONFIGURATIONS[shape.name]
    return {
        "rows": sum(shape.rows), "rows_factor": shape.rows_factor, "minibatch": shape.minibatch,
        "minibatch_factor": whole.minibatch / shape.minibatch,
        "owned": [len(tables) for tables in split_tables(shape, 0, ranks).owned],
        "vector_bytes": shape.dimension * item, "exchanged": shape.exchanged * item,
        "gradient_bytes": shape.dense_parameters * item,
        "whole_table_bytes": sum(shape.rows) * shape.dimension * item,
    }  # fmt: skip


def equal(asked: Row, rank: int, ranks: int) -> Row:
    """How far the ranks are from one process, relative to what that one has learned."""
    options = {"dtype": asked["dtype"], "exchange": asked["exchange"]}
    together = training.joined(gathered(training.train(rank, ranks, options), ranks))
    if rank > 0:
        return {}
    alone = {"dtype": asked["dtype"]}
    first, right = (training.train(0, 1, alone, steps=n) for n in (0, training.STEPS))
    return {"difference": training.norm(together, right), "learned": training.norm(right, first)}


def area(asked: Row, rank: int, ranks: int) -> Row:
    """The AUC on the planted log."""
    reached = training.area(rank, ranks, {"dtype": asked["dtype"]})
    if statistics.pvariance(gathered(reached, ranks)) > 0:
        raise AssertionError("ranks have different scores")
    return {"auc": reached, "best": training.best_area()}


def main() -> None:
    """Does what the settings say."""
    directory = Path(sys.argv[1])
    asked = json.loads((directory / "settings.json").read_text()) | {"directory": str(directory)}
    torch.set_num_threads(1)
    ranks, rank = asked["ranks"], 0
    if ranks > 1:
        rank = int(os.environ.get("RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
        if asked["dtype"] == "bfloat16":
            os.environ["WEFT_WIRE"] = "bfloat16"  # as examples/dlrm/train.py
        bare = asked["backend"] == BARE
        store = FakeStore() if bare else dist.FileStore(str(directory / "store"), ranks)
        dist.init_process_group(asked["backend"], store=store, rank=rank, world_size=ranks)
    found = {"steps": steps, "equal": equal, "auc": area}[asked["part"]](asked, rank, ranks)
    if rank == 0:
        (directory / "result.json").write_text(json.dumps(found))
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
