"""`weft tune --quick`: a model of the machine from measurement, where that beats the shipped one.

docs/machine-model.md says what the numbers mean.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from weft import _core
from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import Launch, Library, weft_library
from weft.bench.processes import burst
from weft.errors import WeftError
from weft.sizes import size_text
from weft.tune.measure import timed
from weft.tune.model_file import Numbers, save
from weft.tune.point import Timed

RANKS = 2
TURNS = 8  # of all candidates
FINAL = 12  # of the best of them: what is judged
_SECONDS = 0.03  # of a case in a turn
_MARGIN = 1.10  # what a candidate must gain, and how far its halves may differ
_CHUNKS = ((16, 64), (32, 64), (64, 256))  # KiB: the smallest and the largest
_SHARES_OF_L2 = (0.0, 0.25, 2.0)  # bytes that slots span
_K = 1 << 10
# Slots that are lent, with messages that they hold, and none.
_LENT = {"lend_to": 64 * _K, "lent_span": 256 * _K, "exchange_chunk": 64 * _K,
         "exchange_chunk_to": 512 * _K, "one_shot_of_two": 64 * _K,
         "allreduce_chunk": 64 * _K, "allreduce_chunk_to": 1024 * _K}  # fmt: skip
_LENDING: tuple[Numbers, ...] = (_LENT, dict.fromkeys(_LENT, 0))
_CASES = (
    ("allreduce", 16 << 10), ("allreduce", 64 << 10), ("allreduce", 256 << 10),
    ("allreduce", 1 << 20), ("allreduce", 4 << 20), ("broadcast", 64 << 10),
    ("allgather", 64 << 10), ("allgather", 1 << 20),
)  # fmt: skip

Measure = Callable[[Numbers | None], list[Timed]]  # each case with a model; None: the shipped one


@dataclass
class Quick:
    """What was measured: the gain of each candidate over the shipped model, by turn.

    The best of many gains something by chance in the turns that pick it. So others judge it.
    """

    candidates: list[Numbers]
    gains: list[list[float]] = field(default_factory=list)  # by candidate, then by turn
    final: list[float] = field(default_factory=list)  # of the best one, by turn
    shipped: list[list[Timed]] = field(default_factory=list)  # each case, whenever it was measured

    @property
    def best(self) -> int:
        """Number of the candidate with the largest median gain."""
        medians = [statistics.median(one) for one in self.gains]
        return medians.index(max(medians))

    @property
    def gain(self) -> float:
        """Of the best candidate, in turns after it was picked."""
        return statistics.median(self.final)

    @property
    def halves(self) -> tuple[float, float]:
        """The same of every other turn, and of the others."""
        return statistics.median(self.final[::2]), statistics.median(self.final[1::2])

    @property
    def agrees(self) -> bool:
        """Whether both halves say the same."""
        return max(self.halves) <= _MARGIN * min(self.halves)

    @property
    def wins(self) -> bool:
        """Whether the best candidate is worth a file."""
        return self.agrees and self.gain > _MARGIN

    @property
    def tails(self) -> dict[str, float]:
        """By case: how many times the median the 99th percentile was, with the shipped model."""
        by_case = zip(*self.shipped, strict=True)
        return {
            f"{collective}, {size_text(size)}": statistics.median(t.p99 / t.median for t in times)
            for (collective, size), times in zip(_CASES, by_case, strict=True)
        }

    def text(self) -> str:
        """In one line."""
        said = ", ".join(f"{name} {value >> 10}K" for name, value in self.chosen().items())
        gain = f"{said}: {self.gain:.2f} times as fast as the shipped model"
        if self.wins:
            return gain
        if not self.agrees:
            return f"{gain}, but halves differ ({self.halves[0]:.2f}, {self.halves[1]:.2f})"
        return f"the shipped model stays: {gain}, and less than {_MARGIN:.2f} is not worth a file"

    def chosen(self) -> Numbers:
        """Of the best candidate."""
        return self.candidates[self.best]

    def json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "best": self.chosen(), "gain": round(self.gain, 4),
            "final": [round(gain, 4) for gain in self.final],
            "halves": [round(half, 4) for half in self.halves], "written": self.wins,
            "candidates": [
                {**numbers, "gains": [round(gain, 4) for gain in gains]}
                for numbers, gains in zip(self.candidates, self.gains, strict=True)
            ],
        }  # fmt: skip


def candidates(second_cache: int) -> list[Numbers]:
    """The models that are tried. `second_cache`: bytes of the second cache."""
    return [
        {
            "reuse": int(share * second_cache), "smallest_chunk": least << 10,
            "largest_chunk": most << 10, "moved_chunk": most << 11, **lending,
        }
        for lending, share, (least, most) in product(_LENDING, _SHARES_OF_L2, _CHUNKS)
    ]  # fmt: skip


def pairs(tried: list[Numbers]) -> int:
    """How often `compete` calls `done`."""
    return TURNS * len(tried) + FINAL


def compete(
    tried: list[Numbers], measure: Measure, done: Callable[[], None] = lambda: None
) -> Quick:
    """All candidates in turns, each beside the shipped model; then the best beside it once more.

    `done` is called after each pair of runs.
    """
    quick = Quick(tried, [[] for _ in tried])

    def gain(numbers: Numbers, turn: int) -> float:
        # The second to run finds the cores as the first left them. So they take turns in that, in
        # both halves: every other turn is of one half.
        shipped_first = turn // 2 % 2 == 0
        order: list[Numbers | None] = [None, numbers] if shipped_first else [numbers, None]
        first, second = (measure(model) for model in order)
        shipped, other = (first, second) if shipped_first else (second, first)
        quick.shipped.append(shipped)
        done()
        return _ratio(shipped, other)

    for turn in range(TURNS):
        for gains, numbers in zip(quick.gains, tried, strict=True):
            gains.append(gain(numbers, turn))
    quick.final += [gain(quick.chosen(), turn) for turn in range(FINAL)]
    return quick


def _ratio(shipped: list[Timed], other: list[Timed]) -> float:
    """The geometric mean over cases."""
    each = zip(shipped, other, strict=True)
    return statistics.geometric_mean(base.median / time.median for base, time in each)


def second_cache() -> int:
    """Bytes. Raises WeftError where the kernel does not say."""
    found = re.search(r"L2 (\d+) KiB", _core.system_info()["model"]["processor"])
    if found is None or not int(found[1]):
        raise WeftError("the kernel does not say how large the second cache is: nothing to try")
    return int(found[1]) << 10


def measure_in(folder: Path) -> Measure:
    """Runs fresh processes with a model, whose file is in `folder`.

    The function raises BurstFailed, also if results are wrong.
    """
    cases = [Case.sized(collective, size, RANKS, "float32") for collective, size in _CASES]

    def measure(numbers: Numbers | None) -> list[Timed]:
        name = "shipped"
        if numbers is not None:
            name = str(folder / "model.json")
            save(Path(name), numbers, {})
        by_rank = burst(_with_model(name), Job(cases, _SECONDS, None))
        of_cases = zip(*by_rank, strict=True)
        return [timed(case, of_ranks) for case, of_ranks in zip(cases, of_cases, strict=True)]

    return measure


def _with_model(name: str) -> Library:
    plain = weft_library("core")

    def launch(ranks: int, directory: Path) -> Launch:
        started = plain.launch(ranks, directory)
        return Launch(started.commands, {**started.environment, "WEFT_MODEL": name})

    return replace(plain, launch=launch)
