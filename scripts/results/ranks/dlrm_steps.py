"""Blocks of DLRM's training steps, and what a rank says of them."""

from __future__ import annotations

import dataclasses
import json
import resource
import subprocess
import time
from typing import Any

import torch.distributed as dist

from dlrm.clicks import RandomClicks
from dlrm.configurations import CONFIGURATIONS, Configuration
from dlrm.records import part
from dlrm.tables import split_tables
from dlrm.trainer import Trainer

MINIBATCHES = 4  # different ones, in turns
Row = dict[str, Any]


def gathered(mine: Any, ranks: int) -> list[Any]:
    """Everybody's."""
    every = [mine] * ranks
    if ranks > 1:
        dist.all_gather_object(every, mine)
    return every


def wire_bytes() -> int:
    """Sent so far by this host's eth0, as its limiter counts: with the head of every frame.

    The interface's own counter has one head for all frames that leave together.
    """
    command = ["tc", "-s", "-j", "qdisc", "show", "dev", "eth0", "root"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return next(one["bytes"] for one in json.loads(said) if one["kind"] == "tbf")


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
        self.ranks, self.limited = ranks, asked["limited"]

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
        before, begin = self._wire(), time.perf_counter()
        for number in range(count):
            self.step(self.batches[number % len(self.batches)])
        took, moved = time.perf_counter() - begin, self._wire() - before
        mine = {"took": took, "wire": moved, "watch": dict(watch.seconds)}
        return {"steps": count, "ranks": self.gathered(mine)}

    def _wire(self) -> int:
        return wire_bytes() if self.limited else 0

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
