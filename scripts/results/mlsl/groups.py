"""LeNet with its first inner product split over a model group."""

from __future__ import annotations

from pathlib import Path

from mlsl.cases import PLACES, Amount, Row
from mlsl.training import SECONDS, run

PROGRAM = Path(__file__).resolve().parents[1] / "ranks" / "split_lenet.py"
SHAPES = {(1, 2): ("1 x 2", ("shm", "mpi", "shmem")), (2, 2): ("1 x 4", ("shm",))}


def turns(amount: Amount) -> list[Row]:
    """A shape, data x model, and a fabric."""
    return [
        {"part": "model_group", "data": data, "model": model, "fabric": fabric, "round": number}
        for number in range(amount.group_rounds)
        for (data, model), (_, fabrics) in SHAPES.items()
        for fabric in fabrics
    ]


def measured(turn: Row, amount: Amount) -> Row:
    """What rank 0 says.

    Raises:
        BurstFailed: a process failed.
    """
    place, _ = SHAPES[turn["data"], turn["model"]]
    settings = {"data": turn["data"], "model": turn["model"], "iterations": amount.group_iterations}
    return run(str(PROGRAM), settings, turn["fabric"], PLACES[place], SECONDS)
