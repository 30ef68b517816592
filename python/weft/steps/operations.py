"""What a rank does in a training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft._core import Plan


@dataclass(frozen=True)
class Compute:
    """The rank computes for so many seconds."""

    seconds: float
    name: str = "compute"


@dataclass(frozen=True)
class Copy:
    """Starts work of the rank's own that runs beside its computation, such as a copy over PCIe.

    Attributes:
        name: for `Wait` and `after`.
        seconds: that it takes.
        engine: works of one engine run one after the other, in the order in which they start.
        after: names of what must end first; the program has started them above.
    """

    name: str
    seconds: float
    engine: str = "copy"
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Collective:
    """Starts a collective of all ranks.

    Attributes:
        name: for `Wait` and `after`.
        plan: a collective ("allreduce": what Weft selects on that many nodes), an algorithm
            ("allreduce/ring", "ring(chunk=1M)") or a plan.
        nbytes: of the whole message, as nccl-tests count.
        params: of the algorithm; what they leave open the topology may answer (`weft.fit`).
        chunk: bytes; 0: as the name says, else `weft.simulation.cheapest_chunk`.
        dtype, symmetric: as of `weft.simulate`.
        priority: collectives of one priority run one after the other on a rank, as on a lane.
            Messages of a higher priority overtake those of lower ones to the same rank.
        after: names of what must end first on the rank; the program has started them above.
    """

    name: str
    plan: str | Plan
    nbytes: int
    params: Mapping[str, int | str | Sequence[int]] = field(default_factory=dict)
    chunk: int = 0
    dtype: str = "float32"
    symmetric: bool = False
    priority: int = 0
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wait:
    """Waits for the collective or copy of that name that the rank started last.

    Above its start in the program this is the one of the iteration before. The first iteration then
    goes on at once.
    """

    name: str


Operation = Compute | Copy | Collective | Wait
