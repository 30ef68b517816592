"""Trains LeNet on the real digits, over every fabric and in every place."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from mlsl.cases import PLACES, TRAININGS, Amount, Row
from mlsl.launch import program

from weft.bench.processes import run_ranks

PROGRAM = Path(__file__).resolve().parents[1] / "ranks" / "lenet.py"
LONG = [("1 x 1", "", ""), ("1 x 2", "shm", "")]
LONG_SEED = 0
COMPUTE_ROUNDS = 2
SECONDS = 240.0  # far more than a training takes, but for the long ones
GLOBAL_BATCH = 64
BATCHES = (64, 32, 16, 8, 4)  # of one of 1 to 16 ranks, for the time of its computation


def turns(amount: Amount) -> list[Row]:
    """All variants with the first seed, and what has no other."""
    found = [_turn("training", *which, 0) for which in TRAININGS]
    found += [
        _turn("equal", place, fabric, "", 0)
        for place, fabric, named in TRAININGS
        if fabric and not named
    ]
    found += [
        _turn("compute", "1 x 1", "", "", number) | {"batch": batch}
        for number in range(COMPUTE_ROUNDS)
        for batch in BATCHES
    ]
    found += [_turn("long", *which, LONG_SEED) for which in LONG]
    return found


def further_seeds(amount: Amount) -> list[Row]:
    """All variants with the second seed, then all with the third, and so on."""
    seeds = range(1, amount.seeds)
    return [_turn("training", *which, seed) for seed in seeds for which in TRAININGS]


def _turn(part: str, place: str, fabric: str, algorithm: str, seed: int) -> Row:
    return {"part": part, "place": place, "fabric": fabric, "algorithm": algorithm, "seed": seed}


def measured(turn: Row, amount: Amount) -> Row:
    """What rank 0 says of a training.

    Raises:
        BurstFailed: a process failed, or ranks ended with different parameters.
    """
    iterations = {
        "training": amount.iterations, "long": amount.long_iterations,
        "equal": amount.equal_iterations, "compute": amount.equal_iterations,
    }[turn["part"]]  # fmt: skip
    places = PLACES[turn["place"]]
    settings = {
        "ranks": len(places), "fabric": turn["fabric"], "seed": turn["seed"],
        "iterations": iterations, "every": min(amount.every, iterations),
        "pairs": amount.pairs if turn["part"] == "training" else 0,
        "batch": turn.get("batch", GLOBAL_BATCH),
        "algorithm": turn["algorithm"], "reproducible": turn["part"] == "equal",
    }  # fmt: skip
    patience = SECONDS if turn["part"] != "long" else 3 * SECONDS
    return run(str(PROGRAM), settings, turn["fabric"], places, patience)


def run(
    script: str, settings: Row, fabric: str, places: list[int], patience: float
) -> dict[str, Any]:
    """Runs a program of ranks that reads settings.json and writes result.json.

    Raises:
        BurstFailed: a process failed.
    """
    from network import Network  # of testing/

    where = Network(max(places) + 1) if max(places) else nullcontext()
    with tempfile.TemporaryDirectory(prefix="weft-lenet-") as name, where as network:
        directory = Path(name)
        (directory / "settings.json").write_text(json.dumps(settings))
        words = [sys.executable, script, name]
        launch = program(words, fabric, places, directory, network)
        run_ranks(f"{fabric or 'one process'}", launch, directory, patience)
        return json.loads((directory / "result.json").read_text())
