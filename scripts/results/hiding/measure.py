"""Runs one turn of caffe_gpi.py: ranks on their hosts, and what rank 0 says."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from mlsl.launch import program

from weft.bench.libraries import Launch
from weft.bench.processes import run_ranks

from hiding.cases import (
    EQUAL_STEPS,
    IMAGES,
    LENET_IMAGES,
    MPI,
    PAIR_STEPS,
    PIXELS,
    PLACES,
    RATES,
    SKEW,
    Amount,
    Row,
)

RANKS = Path(__file__).resolve().parents[1] / "ranks"
SECONDS = 300.0
UNLIMITED = "1 Gbit/s"  # whose images are used where there is no rate


def measured(turn: Row, amount: Amount) -> Row:
    """What rank 0 says.

    Raises:
        BurstFailed: a process failed, or ranks ended with different parameters.
    """
    from network import Network  # of testing/

    places = PLACES[turn["place"]]
    rate = RATES.get(turn.get("rate", ""))
    hosts = Network(max(places) + 1, rate=rate) if max(places) else nullcontext()
    with tempfile.TemporaryDirectory(prefix="weft-step-") as name, hosts as network:
        directory = Path(name)
        settings = settings_of(turn, amount) | {"ranks": len(places)}
        (directory / "settings.json").write_text(json.dumps(settings))
        script = RANKS / ("worker.py" if turn["part"] == "worker" else "step.py")
        words = [sys.executable, str(script), name]
        fabric = "mpi" if turn.get("how") == MPI else ""
        launch = program(words, fabric, places, directory, network)
        told = {"GLOO_SOCKET_IFNAME": "eth0" if network else "lo"}
        if not fabric:
            launch = Launch(launch.commands, without_fabric(launch.environment) | told)
        with metered(network, directory) if turn["part"] == "bytes" else nullcontext():
            run_ranks(str(turn.get("how", turn["part"])), launch, directory, SECONDS)
        result = json.loads((directory / "result.json").read_text())
        if turn["part"] == "bytes":
            result["counters"] = counters(directory / "counters", *result["span"])
        return result


def without_fabric(environment: dict[str, str]) -> dict[str, str]:
    """Weft finds the fabric by itself."""
    return {name: value for name, value in environment.items() if name != "WEFT_FABRIC"}


def settings_of(turn: Row, amount: Amount) -> Row:
    """What the ranks' program is told."""
    small = turn.get("model") == "lenet"
    images = LENET_IMAGES if small else IMAGES[turn.get("rate", UNLIMITED)]
    return {
        **turn, "images": images, "pixels": PIXELS,
        "equal_steps": EQUAL_STEPS if amount.rounds > 1 else 2, "skew": SKEW,
        "steps": amount.lenet_steps if small else amount.steps, "blocks": amount.blocks,
        **(pair_settings(turn, amount) if turn["part"] == "pairs" else {}),
    }  # fmt: skip


def pair_settings(turn: Row, amount: Amount) -> Row:
    """How many pairs, and steps of each."""
    pairs, steps = PAIR_STEPS[turn["model"], turn["rate"]]
    return {"pairs": pairs if amount.rounds > 1 else 1, "pair_steps": steps}


@contextmanager
def metered(network: Any, directory: Path) -> Iterator[None]:
    """The counters of host 0's link go into the file `counters`."""
    words = [sys.executable, str(RANKS / "meter.py"), str(directory / "counters")]
    meter = subprocess.Popen([*network.prefix(0), *words])
    try:
        yield
    finally:
        meter.terminate()
        meter.wait()


def counters(path: Path, begin: float, end: float) -> list[list[float]]:
    """Seconds since `begin`, megabytes received since then, megabytes sent."""
    lines = [[float(word) for word in line.split()] for line in path.read_text().splitlines()]
    lines = [line for line in lines if len(line) == 3 and begin <= line[0] <= end]
    first = lines[0]
    return [
        [round(now - first[0], 3), round((inward - first[1]) / 1e6, 3),
         round((outward - first[2]) / 1e6, 3)]
        for now, inward, outward in lines
    ]  # fmt: skip
