"""What dlrm_scaling.py measures and simulates, what it assumes, and what the document says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dlrm.configurations import CONFIGURATIONS, Configuration

Row = dict[str, Any]

# A socket of the document: 24 cores compute, 4 communicate. An operator's output is a grid of
# shares, one for each core: a fourth of its rows, a sixth of its columns.
CORES, GRID = 24, (4, 6)
# Bytes a second of a socket's memory. Assumed, but for the step from skx8 to cpx4.
MEMORY = {"opa64": 105e9, "skx8": 100e9, "cpx4": 1.2 * 100e9}
BYTES = {"float32": 4, "bfloat16": 2}
CLUSTER = "opa64"
BUCKET = 25 << 20  # bytes of gradients that travel together, as in DistributedDataParallel
ROUNDS = 3


@dataclass(frozen=True)
class Scaling:
    """How one configuration is scaled.

    `baseline` is the number of sockets that the document's speed-up is over. `goal` is the
    speed-up that is asked for at `at` sockets. `said` is the document's there, from and to, by
    backend.
    """

    sockets: tuple[int, ...]
    weak: int  # records of a socket
    baseline: int
    at: int
    goal: float
    said: dict[str, tuple[float, float]]


_EIGHTFOLD = {"workers": (5.0, 6.0), "stealing": (4.0, 4.0)}
SCALINGS = {
    "small": Scaling((1, 2, 4, 8), 1024, 1, 8, 5.0, _EIGHTFOLD),
    "large": Scaling((4, 8, 16, 32, 64), 512, 4, 32, 5.0, _EIGHTFOLD),
    "mlperf": Scaling(
        (1, 2, 4, 8, 13, 16, 26), 2048, 2, 26, 8.5, {"workers": (8.5, 8.5), "stealing": (6.0, 6.0)}
    ),
}
# The nodes of the document's Fig. 8: sockets, and the types that are compared.
NODES = {"skx8": ((1, 2, 4, 8), ("float32",)), "cpx4": ((1, 2, 4), ("float32", "bfloat16"))}
NODE_CONFIGURATIONS = ("small", "mlperf")

# Rows of a table that is measured. More would not fit; these are far beyond every cache.
MEASURED_ROWS = {"small": 1_000_000, "large": 500_000, "mlperf": 1_000_000}


def shape(name: str) -> Configuration:
    """The document's configuration at its full size."""
    return CONFIGURATIONS[name]


def records(name: str, scaling: str, sockets: int) -> int:
    """Of a socket in a step; rounded up where the sockets do not divide the minibatch."""
    if scaling == "weak":
        return SCALINGS[name].weak
    return -(-shape(name).minibatch // sockets)


def layers(widths: tuple[int, ...]) -> list[tuple[int, int]]:
    """Inputs and outputs of each layer."""
    return list(pairwise(widths))


def bottom(name: str) -> list[tuple[int, int]]:
    """The layers of the bottom perceptron."""
    return layers(shape(name).bottom)


def top(name: str) -> list[tuple[int, int]]:
    """The layers of the top perceptron."""
    return layers((shape(name).interactions, *shape(name).top))


def operator_turns() -> list[Row]:
    """One turn measures the operators of a configuration at one number of records of a socket."""
    wanted = set()
    for name, one in SCALINGS.items():
        for sockets in one.sockets:
            for scaling in ("strong", "weak"):
                wanted.add((name, "float32", records(name, scaling, sockets)))
    for sockets, dtypes in NODES.values():
        for name in NODE_CONFIGURATIONS:
            wanted |= {(name, d, records(name, "strong", n)) for n in sockets for d in dtypes}
    found = [
        {"part": "perceptrons", "configuration": name, "dtype": dtype, "records": count}
        for name, dtype, count in sorted(wanted)
    ]
    found += [
        {"part": "tables", "configuration": name, "dtype": dtype}
        for name, dtype in sorted({(name, dtype) for name, dtype, _ in wanted})
    ]
    found += [{"part": "communication"}]
    found += [{"part": "slowdown", "worker": place} for place in ("none", "free", "shared")]
    return [{**turn, "round": number} for number in range(ROUNDS) for turn in found]
