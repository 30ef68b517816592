"""What a benchmark and its rank processes say to each other."""

from __future__ import annotations

from dataclasses import dataclass

from weft.bench.cases import Case


@dataclass(frozen=True)
class Assignment:
    """What one process is asked to do."""

    rank: int
    size: int
    directory: str  # for the rendezvous, fresh
    cases: list[Case]
    peers: list[str]  # backends of torch.distributed
    iterations: int | None  # samples a case; None: as many as fit in `seconds`
    seconds: float
    parent: int


@dataclass(frozen=True)
class Measured:
    """One library's samples in one case, on one rank."""

    case: int
    library: str
    algorithm: str | None
    seconds: list[float]
    correct: bool
