"""Trainings of examples/dlrm: how far the ranks are from one process, and the AUC they reach.

Tests and the page docs/results/dlrm.md ask here. All functions with `ranks` over 1 are collective.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "dlrm"))

from dlrm.auc import auc
from dlrm.clicks import PlantedClicks
from dlrm.configurations import CONFIGURATIONS
from dlrm.records import Minibatch, part
from dlrm.tables import split_tables
from dlrm.trainer import Trainer

TINY = CONFIGURATIONS["tiny"]
SHORT = dataclasses.replace(TINY, minibatch=60)  # 7 tables, uneven on 2 to 4 ranks
STEPS = 100
AUC_STEPS, AUC_MINIBATCHES, UNSEEN = 300, 40, 1 << 40
Parameters = dict[str, torch.Tensor]


def train(
    rank: int, ranks: int, options: dict, share: bool = False, steps: int = STEPS
) -> Parameters:
    """This rank's parameters by name, as float64, after `steps` on the planted log."""
    split = split_tables(SHORT, rank, ranks, share)
    trainer = Trainer(SHORT, split, lr=0.5, **options)
    clicks = PlantedClicks(SHORT, seed=5)
    for step in range(steps):
        trainer.step(part(clicks.records(step), split, trainer.dtype))
    trainer.finish()
    state = trainer.state()
    trainer.close()
    every = {**state["dense"], **state["tables"]}
    # A table has one name, whoever has it.
    return {name.removeprefix("shared."): one.double() for name, one in every.items()}


def joined(parts: list[Parameters]) -> Parameters:
    """The parameters of all ranks.

    Raises:
        ValueError: copies of a parameter differ.
    """
    together: Parameters = {}
    for one in parts:
        for name, value in one.items():
            if not torch.equal(together.setdefault(name, value), value):
                raise ValueError(f"{name}: ranks differ")
    return together


def norm(a: Parameters, b: Parameters) -> float:
    """Of the difference of all parameters.

    Raises:
        ValueError: they are not the same parameters.
    """
    if a.keys() != b.keys():
        raise ValueError(f"only one has {', '.join(a.keys() ^ b.keys())}")
    return sum(float((a[name] - b[name]).square().sum()) for name in a) ** 0.5


def area(rank: int, ranks: int, options: dict) -> float:
    """The AUC on unseen records of the planted log after 300 steps."""
    split = split_tables(TINY, rank, ranks)
    trainer = Trainer(TINY, split, lr=0.3, **options)

    def batches(first: int, count: int) -> Iterator[Minibatch]:
        clicks = PlantedClicks(TINY, 0, first)
        return (part(clicks.records(n), split, trainer.dtype) for n in range(count))

    for batch in batches(0, AUC_STEPS):
        trainer.step(batch)
    reached = auc(*trainer.evaluate(batches(UNSEEN, AUC_MINIBATCHES)))
    trainer.close()
    return reached


def best_area() -> float:
    """The AUC that nobody can expect to beat on these records."""
    return PlantedClicks(TINY, 0, UNSEEN).best_auc(AUC_MINIBATCHES)
