"""The files between a burst and its processes: a job in, samples out. See benchmarks/job.h."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from weft.bench.cases import Case


@dataclass(frozen=True)
class Job:
    """One library's share of a round.

    All cases have the same number of ranks, and are alike in `symmetric` and `together`: a driver
    is told once. Others raise ValueError.
    """

    cases: list[Case]
    seconds: float  # for each case
    samples: int | None  # of each case, instead of `seconds`

    def __post_init__(self) -> None:
        if len({(case.ranks, case.symmetric, case.together) for case in self.cases}) != 1:
            raise ValueError("the cases of a job differ in ranks, symmetric or together")

    @property
    def ranks(self) -> int:
        """How many ranks take part."""
        return self.cases[0].ranks

    def write(self, directory: Path, meeting: str, batched: bool) -> None:
        """As `directory`/job. `meeting`: a file of shared memory; not `batched`: no batches."""
        first = self.cases[0]
        lines = [f"ranks {self.ranks}", f"meeting {meeting}", f"seconds {self.seconds}"]
        if self.samples:
            lines.append(f"samples {self.samples}")
        lines.append(f"symmetric {int(first.symmetric)}")
        lines.append(f"together {int(first.together)}")
        for case in self.cases:
            batch = case.batch if batched else 1
            parts = ",".join(map(str, case.parts)) or "-"
            words = (case.collective, case.dtype, case.count, batch, case.algorithm or "-", parts)
            lines.append(" ".join(["case", *map(str, words)]))
        (directory / "job").write_text("\n".join(lines) + "\n")


@dataclass(frozen=True)
class Measured:
    """One library's samples in one case, on one rank."""

    correct: bool
    algorithm: str | None  # None: the library does not say
    seconds: list[float]
    # Of a meeting of the ranks before or after, whichever took longer: how far their cores are from
    # each other. 0: not measured, as through PyTorch and where ranks outnumber cores.
    apart: float = 0.0

    def line(self, index: int) -> str:
        """The file that a driver writes for its case number `index`."""
        words = [str(index), str(int(self.correct)), self.algorithm or "-", f"apart={self.apart!r}"]
        return " ".join([*words, *map(repr, self.seconds)]) + "\n"


def read_job(directory: Path) -> Job:
    """Reads what `write` wrote, for a driver in Python. Its batches are always the case's own."""
    lines = [line.split() for line in (directory / "job").read_text().splitlines()]
    value = {words[0]: words[1] for words in lines}
    ranks = int(value["ranks"])
    alike = {name: value[name] == "1" for name in ("symmetric", "together")}
    cases = [_case(words[1:], ranks, alike) for words in lines if words[0] == "case"]
    samples = int(value["samples"]) if "samples" in value else None
    return Job(cases, float(value["seconds"]), samples)


def _case(words: list[str], ranks: int, alike: dict[str, bool]) -> Case:
    collective, dtype, count, _, algorithm, parts = words
    named = "" if algorithm == "-" else algorithm
    counts = () if parts == "-" else tuple(map(int, parts.split(",")))
    return Case(collective, int(count), ranks, dtype, algorithm=named, parts=counts, **alike)


def read_samples(directory: Path, ranks: int) -> list[list[Measured]]:
    """The samples of the drivers: by rank, then by case.

    Raises ValueError for a driver of another version.
    """
    return [
        [_measured(line) for line in (directory / f"samples.{rank}").read_text().splitlines()]
        for rank in range(ranks)
    ]


def _measured(line: str) -> Measured:
    _, correct, algorithm, apart, *seconds = line.split()
    if not apart.startswith("apart="):
        raise ValueError(
            "its benchmark driver is of another version of Weft: build it anew, as `make peers` "
            "does for other libraries"
        )
    return Measured(
        correct == "1",
        None if algorithm == "-" else algorithm,
        [float(s) for s in seconds],
        float(apart.removeprefix("apart=")),
    )
