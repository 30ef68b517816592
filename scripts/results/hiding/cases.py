"""What caffe_gpi.py measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]

RATES = {"1 Gbit/s": "1gbit", "10 Gbit/s": "10gbit"}
PLACES = {"2 x 1": [0, 1], "2 x 2": [0, 0, 1, 1], "1 x 1": [0], "1 x 2": [0, 0]}
BETWEEN_HOSTS = ("2 x 1", "2 x 2")
MODELS = ("alexnet", "lenet")

ALONE, PHASES, ALLREDUCE, SHARDED, TREE = "none", "phases", "allreduce", "sharded", "tree"
MPI = "MPI's own allreduce, phases"
GLOO, GLOO_BF16, WEFT = "DDP on Gloo", "DDP on Gloo, bf16", "DDP on Weft"
LATE, ONE_LANE, BF16 = "allreduce, waits in step", "allreduce, one lane", "allreduce, bf16"
SHARDED_PHASES, SHARDED_ONE_LANE = "sharded, phases", "sharded, one lane"
AT_STEP, LITERAL, TREE_PHASES = "tree, updates at step", "flat_tree", "tree, phases"
# In this order, so that a run which is stopped has what matters most.
HOWS = [
    ALONE, GLOO, WEFT, PHASES, ALLREDUCE, SHARDED, TREE, BF16, MPI, GLOO_BF16, LATE, ONE_LANE,
    SHARDED_PHASES, SHARDED_ONE_LANE, TREE_PHASES, AT_STEP, LITERAL,
]  # fmt: skip
JUDGED = HOWS[:8]
HOWS_AT = {"2 x 1": HOWS, "2 x 2": [*JUDGED, MPI, GLOO_BF16, LITERAL]}

# Images of all ranks together, by the rate. So AlexNet computes 0.25 to 1 of the time of its bytes
# at 1 Gbit/s. At 10 Gbit/s the update alone takes most of that time.
IMAGES = {"1 Gbit/s": 128, "10 Gbit/s": 4}
LENET_IMAGES = 64
PIXELS = 67  # a side; all of AlexNet's 243.86 MB are there at every size
LENET = (1, 28, 28)
EQUAL_HOWS = [WEFT, PHASES, ALLREDUCE, SHARDED, TREE, AT_STEP, LITERAL]
EQUAL_STEPS = 20
METERED = [PHASES, ALLREDUCE, TREE, AT_STEP, LITERAL]
COPIES = [PHASES, ALLREDUCE, SHARDED, TREE]  # of one node
SKEWED = [ALLREDUCE, "allreduce, barrier"]
SKEW = 0.5  # seconds that one rank stands still in each step


# Ways whose times are close, beside what they are compared with.
PAIRS = [(ALLREDUCE, WEFT), (SHARDED, WEFT)]
PAIRS_OF_TWO = [(ALLREDUCE, PHASES)]  # on 2 x 1
PAIRS_OF_ALEXNET = [(TREE, ALLREDUCE)]  # LeNet has no goal for it
EVERY_PAIR = [*PAIRS, *PAIRS_OF_TWO, *PAIRS_OF_ALEXNET]
# How many pairs, and steps of each, by model and rate.
PAIR_STEPS = {
    ("alexnet", "1 Gbit/s"): (3, 3), ("alexnet", "10 Gbit/s"): (16, 4),
    ("lenet", "1 Gbit/s"): (24, 25), ("lenet", "10 Gbit/s"): (24, 25),
}  # fmt: skip


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    rounds: int
    blocks: int
    steps: int  # of AlexNet in a block
    lenet_steps: int


FULL = Amount(2, 2, 3, 100)
TRIAL = Amount(1, 1, 1, 5)


def steps_turns(amount: Amount) -> list[Row]:
    """Variants take turns. Further rounds have what the goals are about."""
    places = [(model, rate, place) for place in BETWEEN_HOSTS for model in MODELS for rate in RATES]
    return [
        _turn("steps", model=model, rate=rate, place=place, how=how, round=number)
        for number in range(amount.rounds)
        for model, rate, place in places
        for how in (HOWS_AT[place] if number == 0 else JUDGED)
    ]


def pairs_turns(_: Amount) -> list[Row]:
    """Two ways in one job."""
    return [
        _turn("pairs", model=model, rate=rate, place=place, how=how, against=other)
        for place in BETWEEN_HOSTS
        for model in MODELS
        for rate in RATES
        for how, other in [
            *PAIRS,
            *(PAIRS_OF_TWO if place == "2 x 1" else []),
            *(PAIRS_OF_ALEXNET if model == "alexnet" else []),
        ]
    ]


def layers_turns(amount: Amount) -> list[Row]:
    """When layers are ready and needed, and how long their bytes take on the wire alone.

    Where the wire is the limit, also what layers take beside an exchange.
    """
    limited = {("alexnet", "1 Gbit/s"): ["beside"]}
    return [
        _turn(part, model=model, rate=rate, place="2 x 1", round=number)
        for model in MODELS
        for rate in RATES
        for number in range(amount.rounds)
        for part in ["layers", "wire", *limited.get((model, rate), [])]
    ]


def equal_turns(_: Amount) -> list[Row]:
    """Against one process."""
    return [
        _turn("equal", model=model, place="2 x 2", how=how)
        for model in MODELS
        for how in EQUAL_HOWS
    ]


def bytes_turns(_: Amount) -> list[Row]:
    """The counters of a host's link over some steps of AlexNet."""
    return [_turn("bytes", model="alexnet", rate="1 Gbit/s", place="2 x 1", how=how)
            for how in METERED]  # fmt: skip


def node_turns(amount: Amount) -> list[Row]:
    """One node: copies spread over the step, or all at once."""
    return [
        _turn("node", model=model, place=place, how=how, round=number)
        for number in range(amount.rounds)
        for model in MODELS
        for place, hows in (("1 x 1", [ALONE]), ("1 x 2", COPIES))
        for how in hows
    ]


def worker_turns(amount: Amount) -> list[Row]:
    """A worker on the core that computes, or on another."""
    return [
        _turn("worker", place=place, cores=cores, round=number)
        for number in range(2 * amount.rounds)
        for place in ("1 x 2", "2 x 1")
        for cores in ("another", "the one that computes")
    ]


def skew_turns(_: Amount) -> list[Row]:
    """One rank is late by turns."""
    return [_turn("skew", model="alexnet", rate="10 Gbit/s", place="2 x 1", how=how)
            for how in SKEWED]  # fmt: skip


def _turn(part: str, **what: Any) -> Row:
    return {"part": part, **what}
