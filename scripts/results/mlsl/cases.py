"""What openshmem_mlsl.py measures, and what the document says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]

# LeNet's gradients in the order of backward, in float32 elements: weights, then biases of each
# layer. examples/lenet/model.py has the model.
MESSAGES = {"ip2": (5000, 10), "ip1": (400_000, 500), "conv2": (25_000, 50), "conv1": (500, 20)}
PARTS = tuple(count for layer in MESSAGES.values() for count in layer)

# The host of each rank, by "nodes x ranks a node", as the document writes it.
PLACES = {"1 x 1": [0], "1 x 2": [0, 0], "1 x 4": [0] * 4, "2 x 1": [0, 1], "2 x 2": [0, 0, 1, 1]}


NATIVE = "native"  # the algorithm: a fabric's own function
_IN_A_NODE = [("shm", ""), ("ofi", ""), ("mpi", ""), ("mpi", NATIVE), ("shmem", ""),
              ("shmem", NATIVE)]  # fmt: skip
# (place, fabric, algorithm)
TRAININGS = [
    ("1 x 1", "", ""),
    *(("1 x 2", *how) for how in _IN_A_NODE),
    *(("1 x 4", *how) for how in _IN_A_NODE),
    ("1 x 4", "shm", "ring"),  # adds up in another order than all others
    *(("2 x 1", *how) for how in [("ofi", ""), ("mpi", ""), ("mpi", NATIVE), ("shmem", "")]),
    *(("2 x 2", *how) for how in [("shm+ofi", ""), ("mpi", ""), ("mpi", NATIVE), ("shm+mpi", ""),
                                  ("shm+shmem", "")]),
]  # fmt: skip


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    rounds: int  # of the messages on two ranks
    crowded_rounds: int  # on four
    seconds: float  # of a library's turn
    seeds: int
    iterations: int
    long_iterations: int
    every: int  # iterations between two looks at the held-out digits
    pairs: int  # of blocks, for the share of communication
    equal_iterations: int  # of trainings that are to end with equal bits, and of computation alone
    group_rounds: int  # of the model group
    group_iterations: int


FULL = Amount(6, 2, 0.25, 5, 300, 10_000, 100, 6, 100, 2, 200)
TRIAL = Amount(1, 1, 0.05, 1, 10, 20, 10, 1, 5, 1, 5)

# Table I: seconds of training by (nodes, ranks a node).
DOCUMENT_SECONDS = {
    (1, 1): (44.87, 49.64), (1, 2): (62.14, 45.04), (2, 1): (48.12, 48.04), (2, 2): (66.45, 47.96),
    (4, 1): (51.22, 50.39), (4, 2): (71.34, 45.28), (8, 2): (72.61, 47.84),
}  # fmt: skip
# Table II: accuracy with MPI and with SHMEM.
DOCUMENT_ACCURACY = {
    (1, 2): (0.9904, 0.9868), (2, 1): (0.9909, 0.9861), (2, 2): (0.9906, 0.9823),
    (4, 1): (0.9906, 0.9820), (4, 2): (0.9913, 0.9755), (8, 2): (0.9901, 0.9626),
}  # fmt: skip


def place_name(nodes: int, each: int) -> str:
    """As tables write it."""
    return f"{nodes} x {each}"
