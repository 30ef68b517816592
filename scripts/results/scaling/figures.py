"""What the tables and plots of dlrm_scaling.md show, computed from the rows."""

from __future__ import annotations

from scaling.cases import CLUSTER, MEMORY, SCALINGS, Row, records
from scaling.program import Communication, programs
from scaling.sockets import socket
from weft.steps import Compute

_PLAIN = {"topology": CLUSTER, "dtype": "float32", "blocking": False, "assumed": ""}


def step(rows: list[Row], **what: object) -> Row:
    """The one row of a step in which all of this is so.

    Raises:
        ValueError: there is none, or there are several.
    """
    wanted = _PLAIN | what
    found = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
    if len(found) != 1:
        raise ValueError(f"{len(found)} rows of {wanted}: make the data again")
    return found[0]


def rate(row: Row) -> float:
    """Records a second of all sockets."""
    return float(row["records"] * row["sockets"] / row["seconds"])


def speed_up(rows: list[Row], name: str, sockets: int, **what: object) -> float:
    """How many times as many records a second as with the document's baseline; strong scaling."""
    what = {"backend": "workers", "part": "strong"} | what
    base = step(rows, configuration=name, sockets=SCALINGS[name].baseline, **what)
    return rate(step(rows, configuration=name, sockets=sockets, **what)) / rate(base)


def efficiency(rows: list[Row], name: str, sockets: int, part: str, backend: str) -> float:
    """The share of the baseline's records a second and socket."""
    gained = speed_up(rows, name, sockets, part=part, backend=backend)
    return gained * SCALINGS[name].baseline / sockets


def compute(row: Row) -> float:
    """Seconds of a step in which a rank computes, the mean of the ranks."""
    return float(row["seconds"] - row["exchange"] - row["gradients"])


def communication(row: Row) -> float:
    """Seconds of a step in which a rank waits."""
    return float(row["exchange"] + row["gradients"])


def operators(operator_rows: list[Row], name: str, sockets: int) -> dict[str, float]:
    """Seconds of each operator of rank 0 in strong scaling, in the order of the step."""
    machine = socket(operator_rows, name, "float32", MEMORY[CLUSTER])
    nothing = Communication("allreduce", "alltoall", lanes=True, slowdown=1.0)
    program = programs(machine, sockets, records(name, "strong", sockets), nothing)[0]
    found: dict[str, float] = {}
    for one in program:
        if isinstance(one, Compute):
            found[one.name] = found.get(one.name, 0.0) + one.seconds
    return found
