"""Writes the tables of docs/results/lent.md: what lent slots gain on two ranks.

    python scripts/results/lent.py             from lent.jsonl
    python scripts/results/lent.py --data      first measures what is not there for this processor

Needs an idle machine with two cores, for some minutes. To measure a processor again, delete its
rows.
"""

from __future__ import annotations

import functools
import itertools
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

from defaults.placement import Placement
from record import Record

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import weft_library
from weft.bench.processes import burst
from weft.tune import forget_user_choices
from weft.tune.measure import seconds_of, timed
from weft.tune.model_file import save

from page import DATA, asked_for_data, digits, fill, of, read, size, table

NAME = "lent"
COLLECTIVES = ["allreduce", "allgather", "reduce_scatter", "alltoall"]
SIZES = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 25 << 20]
RANKS, ROUNDS = 2, 8
_K = 1 << 10
# Numbers of a model, beside those that Weft ships for the processor. Lengths may be good for one of
# the two only, so each has a second choice.
LONG = {"moved_chunk": 256 * _K, "allreduce_chunk": 0, "allreduce_chunk_to": 0,
        "one_shot": 48 * _K, "one_shot_of_two": 0}  # fmt: skip
SHORT = {"moved_chunk": 64 * _K, "allreduce_chunk": 64 * _K, "allreduce_chunk_to": 1 << 40,
         "one_shot": 16 * _K, "one_shot_of_two": 64 * _K}  # fmt: skip
WITHOUT = {"without": {"lend_to": 0}, "without, long": {"lend_to": 0, **LONG}}
LENT = {"lend_to": 64 * _K, "lent_span": 256 * _K}
WITH = {"with": LENT, "with, short": {**LENT, **SHORT}}
Row = dict[str, Any]


def measured(turn: Row, models: Path) -> Row:
    """Microseconds of each way in each round, in fresh processes and by turns."""
    case = Case.sized(turn["collective"], turn["bytes"], RANKS, "float32")
    placement = Placement()
    us: dict[str, list[float]] = {way: [] for way in (*WITHOUT, *WITH)}
    for number in range(ROUNDS):
        for way in list(us) if number % 2 == 0 else list(us)[::-1]:
            os.environ["WEFT_MODEL"] = str(models / f"{way}.json")
            us[way].append(placement.steady(functools.partial(taken, case)))
    return {"us": us, **placement.counts()}


def taken(case: Case) -> float:
    """Microseconds. Raises BurstFailed if a result is wrong."""
    by_rank = burst(weft_library("core"), Job([case], seconds_of(case), None))
    return float(f"{timed(case, tuple(rank[0] for rank in by_rank)).median * 1e6:.5g}")


def quicker(row: Row, ways: dict[str, Any]) -> float:
    """The median of the quicker way."""
    return min(statistics.median(row["us"][way]) for way in ways)


def cell(rows: list[Row], collective: str, nbytes: int) -> str:
    """Time without, and the time with lent slots over it."""
    found = of([{**row, **row["turn"]} for row in rows], collective=collective, bytes=nbytes)
    if not found:
        return ""
    without, lent = (quicker(found[-1], ways) for ways in (WITHOUT, WITH))
    return f"{digits(without)}, **{lent / without:.2f}**"


def part(rows: list[Row]) -> str:
    """A table for each processor."""
    tables = []
    for processor in dict.fromkeys(row["processor"] for row in rows):
        mine = of(rows, processor=processor)
        moved, far = (sum(row[key] for row in mine) for key in ("moved", "far"))
        lines = [[name, *(cell(mine, name, nbytes) for nbytes in SIZES)] for name in COLLECTIVES]
        tables.append(
            f"### {processor}\n\n{table(['', *map(size, SIZES)], lines)}\n\n"
            f"{moved} runs met cores that were not as usual, and were repeated; "
            f"{far} count so."
        )
    return "\n\n".join(tables)


def main() -> None:
    """Measures, if asked to, and writes the tables."""
    if asked_for_data(__doc__):
        forget_user_choices()
        record = Record(DATA / f"{NAME}.jsonl", each_processor=True)
        turns = [
            {"collective": collective, "bytes": nbytes}
            for nbytes, collective in itertools.product(SIZES, COLLECTIVES)
        ]
        with tempfile.TemporaryDirectory() as folder:
            for way, numbers in (WITHOUT | WITH).items():
                save(Path(folder) / f"{way}.json", numbers, {})
            record.take(turns, functools.partial(measured, models=Path(folder)))
        record.end()
    fill(NAME, {NAME: part(read(NAME))})


if __name__ == "__main__":
    main()
