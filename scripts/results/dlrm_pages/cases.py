"""What dlrm.py measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

Row = dict[str, Any]

# The host of each rank, by "nodes x ranks a node".
PLACES = {"1 x 1": [0], "1 x 2": [0, 0], "1 x 4": [0] * 4, "2 x 1": [0, 1], "2 x 2": [0, 0, 1, 1]}
RATES = {"1 Gbit/s": "1gbit", "10 Gbit/s": "10gbit"}  # as tc says them
NODE = [("1 x 2", ""), ("1 x 4", "")]
HOSTS = [(place, rate) for rate in RATES for place in ("2 x 1", "2 x 2")]
EVERYWHERE = NODE + HOSTS

WEFT, GLOO, MPI, NATIVE, ALONE = "weft", "gloo", "mpi", "native", "alone"
BARE, EMPTY = "bare", "empty"
NAMES = {WEFT: "Weft", GLOO: "Gloo", MPI: "Weft on mpi", NATIVE: "MPI native", ALONE: "one process",
         BARE: "plain TCP", EMPTY: "Weft, empty"}  # fmt: skip
BLOCKING, OVERLAPPING = "blocking", "overlapping"
BOTH = (BLOCKING, OVERLAPPING)


class Size(NamedTuple):
    """By what a configuration is made smaller: rows divided by `shrink`, and the minibatch."""

    shrink: int
    minibatch: int


# A rank has one core here, and 24 in the document: minibatches are divided by 128 and by 1024.
SIZES = {"mlperf": Size(256, 128), "small": Size(1, 64), "large": Size(1024, 16)}


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    rounds: int  # of MLPerf's turns of Weft and Gloo
    seconds: float  # of a turn's timed steps
    blocks: int
    collective_rounds: int
    collective_seconds: float


FULL = Amount(2, 2.0, 5, 2, 0.3)
TRIAL = Amount(1, 0.1, 1, 1, 0.05)

MEBI = 1 << 20
# The document's collectives: name, bytes (of an alltoall those of all ranks together), ranks.
COLLECTIVES = [
    ("small", "allreduce", 9.5, (2, 4)), ("large", "allreduce", 1047.0, (2,)),
    ("mlperf", "allreduce", 9.0, (2, 4)), ("small", "alltoall", 16.0, (2, 4)),
    ("large", "alltoall", 1024.0, (2,)), ("mlperf", "alltoall", 208.0, (2, 4)),
]  # fmt: skip
LIBRARIES = {
    "weft": "Weft", "gloo": "Gloo", "oneccl": "oneCCL", "openmpi": "Open MPI", "mpich": "MPICH",
    "intelmpi": "Intel MPI",
}  # fmt: skip
CROWDED = ("weft", "gloo", "oneccl", "openmpi", "intelmpi")  # MPICH spins: more ranks than cores


def turn(config: str, where: tuple[str, str], how: str, dtype: str, steps: str, **more: Any) -> Row:
    """One turn of training steps."""
    return {
        "part": "steps", "config": config, "place": where[0], "rate": where[1], "how": how,
        "exchange": "alltoall", "dtype": dtype, "steps": steps, "round": 0, **more,
    }  # fmt: skip


def step_turns(amount: Amount) -> list[Row]:
    """All turns of training steps, in an order in which variants take turns."""
    found = []
    for number in range(amount.rounds):
        found += [
            turn("mlperf", where, how, dtype, steps, round=number)
            for where in EVERYWHERE
            for dtype in ("float32", "bfloat16")
            for steps in BOTH
            for how in ways(where)
        ]
    return found


def ways(where: tuple[str, str]) -> tuple[str, ...]:
    """What takes turns with Weft everywhere; on hosts also what no library can be faster than."""
    return (WEFT, GLOO, BARE) if where in HOSTS else (WEFT, GLOO)


def further_turns(amount: Amount) -> list[Row]:
    """Other configurations, MPI, other exchanges, empty collectives, one process.

    Further rounds have Weft and Gloo on hosts, of the other configurations.
    """
    both = (WEFT, GLOO)
    single, half = "float32", "bfloat16"
    found = [
        turn("mlperf", where, how, single, steps)
        for where in EVERYWHERE for steps in BOTH for how in (MPI, NATIVE)
    ]  # fmt: skip
    found += [turn("mlperf", where, MPI, half, steps)
              for where in (NODE[0], HOSTS[0]) for steps in BOTH]  # fmt: skip
    found += [
        turn("mlperf", where, how, single, steps, exchange=exchange)
        for where in (NODE[0], HOSTS[0]) for exchange in ("scatter", "scatter_list")
        for steps in BOTH for how in both
    ]  # fmt: skip
    found += [turn("small", where, how, single, steps)
              for where in EVERYWHERE for steps in BOTH for how in ways(where)]  # fmt: skip
    found += [turn("small", NODE[0], how, half, steps) for steps in BOTH for how in both]
    large = (NODE[0], ("2 x 1", "1 Gbit/s"), ("2 x 1", "10 Gbit/s"))
    found += [turn("large", where, how, single, steps)
              for where in large for steps in BOTH for how in ways(where)]  # fmt: skip
    found += [turn("large", NODE[0], how, half, steps) for steps in BOTH for how in both]
    halved = [("mlperf", where) for where in EVERYWHERE]
    halved += [("small", NODE[0]), ("large", NODE[0])]
    found += [turn(config, where, EMPTY, dtype, BLOCKING, round=number)
              for number in range(amount.rounds) for config, where in halved
              for dtype in (single, half)]  # fmt: skip
    found += [turn(config, ("1 x 1", ""), ALONE, dtype, BLOCKING)
              for config in SIZES for dtype in (single, half)]  # fmt: skip
    found += [turn(config, where, how, single, steps, round=number)
              for number in range(1, amount.rounds)
              for config, wheres in (("small", HOSTS), ("large", large[1:]))
              for where in wheres for steps in BOTH for how in ways(where)]  # fmt: skip
    return found


def correctness_turns() -> list[Row]:
    """Trainings beside one process's."""
    found: list[Row] = [
        {"part": "equal", "place": place, "rate": "", "how": WEFT, "exchange": exchange,
         "dtype": dtype}
        for place in ("1 x 2", "1 x 4") for dtype in ("float32", "float64")
        for exchange in ("alltoall", "scatter", "scatter_list")
    ]  # fmt: skip
    areas = [("1 x 1", ALONE, "float32"), ("1 x 1", ALONE, "bfloat16")]
    areas += [(place, WEFT, dtype) for place in ("1 x 2", "1 x 4")
              for dtype in ("float32", "bfloat16")]  # fmt: skip
    return found + [
        {"part": "auc", "place": place, "rate": "", "how": how, "dtype": dtype}
        for place, how, dtype in areas
    ]


def collective_turns(amount: Amount) -> list[Row]:
    """A library's turn with one collective."""
    return [
        {"part": "collectives", "config": config, "collective": name, "mebibytes": whole,
         "ranks": ranks, "library": library, "round": number}
        for number in range(amount.collective_rounds)
        for config, name, whole, counts in COLLECTIVES
        for ranks in counts if ranks == 2 or number == 0
        for library in (LIBRARIES if ranks == 2 else CROWDED)
    ]  # fmt: skip
