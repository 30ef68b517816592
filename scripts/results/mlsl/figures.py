"""The arithmetic of openshmem_mlsl.md: what is counted from the rows. None: not measured."""

from __future__ import annotations

from statistics import mean, median

from mlsl.cases import TRAININGS, Row

MPI_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "intelmpi": "Intel MPI"}
POINTS = 0.3  # that an accuracy may be away from one process's


def of_turn(rows: list[Row], **what: object) -> list[Row]:
    """The rows whose turn says all of this."""
    return [
        row for row in rows if all(row["turn"].get(name) == value for name, value in what.items())
    ]


def microseconds(rows: list[Row], library: str, ranks: int, together: bool) -> list[float]:
    """Of the eight messages: each round's median."""
    own = of_turn(rows, part="messages", library=library, ranks=ranks, together=together)
    return [1e6 * row["seconds"] for row in own]


def faster(rows: list[Row], library: str, ranks: int) -> float | None:
    """Microseconds of the faster of both ways: the median of the rounds."""
    ways = [microseconds(rows, library, ranks, together) for together in (False, True)]
    medians = [median(way) for way in ways if way]
    return min(medians) if medians else None


def fastest_mpi(rows: list[Row], ranks: int) -> tuple[str, float] | None:
    """The MPI that takes least for the messages, and its microseconds."""
    found = {name: faster(rows, name, ranks) for name in MPI_NAMES}
    times = {name: time for name, time in found.items() if time is not None}
    return min(times.items(), key=lambda one: one[1]) if times else None


def trainings(rows: list[Row], place: str, fabric: str, algorithm: str) -> dict[int, Row]:
    """By seed."""
    own = of_turn(rows, part="training", place=place, fabric=fabric, algorithm=algorithm)
    return {row["turn"]["seed"]: row for row in own}


def ratio(mine: dict[int, Row], other: dict[int, Row]) -> float | None:
    """Of times of training: the median over the seeds that both have."""
    seeds = mine.keys() & other.keys()
    if not seeds:
        return None
    return median(mine[seed]["seconds"] / other[seed]["seconds"] for seed in seeds)


def accuracy(own: dict[int, Row]) -> float | None:
    """In per cent: the mean of the seeds."""
    return 100 * mean(row["accuracy"] for row in own.values()) if own else None


def points(mine: dict[int, Row], other: dict[int, Row]) -> float | None:
    """How far the mean accuracies are apart, over the seeds that both have."""
    seeds = mine.keys() & other.keys()
    if not seeds:
        return None
    return 100 * mean(mine[seed]["accuracy"] - other[seed]["accuracy"] for seed in seeds)


def farthest(rows: list[Row]) -> float | None:
    """Of all variants' mean accuracies, the largest distance from one process's, in points."""
    alone = trainings(rows, "1 x 1", "", "")
    found = [points(trainings(rows, *variant), alone) for variant in TRAININGS]
    return max((value for value in found if value is not None), key=abs, default=None)


def equal_bits(rows: list[Row]) -> bool | None:
    """Whether reproducible trainings on as many ranks ended with equal parameters."""
    found = [set(hashes(rows, ranks).values()) for ranks in (2, 4)]
    return all(len(one) == 1 for one in found) if all(found) else None


def hashes(rows: list[Row], ranks: int) -> dict[tuple[str, str], str]:
    """Of the parameters after reproducible trainings on so many ranks, by place and fabric."""
    own = [row for row in of_turn(rows, part="equal") if row["ranks"] == ranks]
    return {(row["turn"]["place"], row["turn"]["fabric"]): row["hash"] for row in own}


def simulated(rows: list[Row], nodes: int, each: int, library: str) -> Row | None:
    """The row of a place of the document."""
    found = of_turn(rows, part="simulation", nodes=nodes, each=each, library=library)
    return found[0] if found else None


def exchange(row: Row) -> float:
    """Seconds of a simulated iteration that are not computation."""
    return sum(one["seconds"] for one in row["messages"])
