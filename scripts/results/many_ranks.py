"""Writes the tables of docs/results/many_ranks.md: what the defaults lose where ranks share cores.

    python scripts/results/many_ranks.py             from many_ranks.jsonl, many_ranks_before.jsonl
    python scripts/results/many_ranks.py --data      first measures what is not there here

Needs an idle machine with few cores, for 20 minutes with two. To measure a processor again,
delete its rows.
"""

from __future__ import annotations

import itertools
import statistics
from typing import Any

from record import Record

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import weft_library
from weft.bench.processes import burst
from weft.tune import forget_user_choices
from weft.tune.candidates import algorithms
from weft.tune.measure import timed

from page import DATA, asked_for_data, digits, fill, of, read, size, table

NAME = "many_ranks"
COLLECTIVES = ["allreduce", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall"]
RANKS = [20, 40]
SIZES = [8, 4 << 10, 64 << 10, 1 << 20]
TRIALS, PAIRS = 3, 10
SECONDS = 0.1  # of a case
# Groups of neighbours that add up a share each, beside what `weft tune` tries.
GROUPS = [f"allreduce/multi_leader(inner=direct,leaders={n},node={n},outer=recursive_doubling)"
          for n in (4, 8)]  # fmt: skip
Row = dict[str, Any]


def measured(turn: Row) -> Row:
    """Pass one picks a candidate for each size, pass two runs it and the default in turns.

    Microseconds: `trials[algorithm][size]` in pass one, `us[way][size]` of each round in pass two.
    """
    collective, ranks = turn["collective"], turn["ranks"]
    names = algorithms(collective, ranks, symmetric=False)
    names += GROUPS if collective == "allreduce" else []
    pairs = list(itertools.product(names, SIZES))
    tries = [taken(collective, ranks, pairs) for _ in range(TRIALS)]
    medians = [float(f"{statistics.median(us):.5g}") for us in zip(*tries, strict=True)]
    trials: dict[str, dict[str, float]] = {name: {} for name in names}
    for (name, nbytes), us in zip(pairs, medians, strict=True):
        trials[name][str(nbytes)] = us
    default = chosen(collective, ranks)
    challenger = {
        key: min((n for n in names if n != default[key]), key=lambda n: trials[n][key])
        for key in map(str, SIZES)
    }
    us = in_turns(collective, ranks, challenger)
    return {"default": default, "challenger": challenger, "trials": trials, "us": us}


def in_turns(
    collective: str, ranks: int, challenger: dict[str, str]
) -> dict[str, dict[str, list[float]]]:
    """Each round has the default, the challengers and the default again, in fresh processes."""
    ways = {
        "default": [("", nbytes) for nbytes in SIZES],
        "challenger": [(challenger[str(nbytes)], nbytes) for nbytes in SIZES],
        "again": [("", nbytes) for nbytes in SIZES],
    }
    us: dict[str, dict[str, list[float]]] = {way: {str(n): [] for n in SIZES} for way in ways}
    for number in range(PAIRS):
        for way in list(ways) if number % 2 == 0 else list(ways)[::-1]:
            for nbytes, time in zip(SIZES, taken(collective, ranks, ways[way]), strict=True):
                us[way][str(nbytes)].append(float(f"{time:.5g}"))
    return us


def taken(collective: str, ranks: int, pairs: list[tuple[str, int]]) -> list[float]:
    """Microseconds of each algorithm and size, the slowest rank's; an empty name is the default.

    Raises BurstFailed if a result is wrong.
    """
    cases = cases_of(collective, ranks, pairs)
    by_rank = burst(weft_library("core"), Job(cases, SECONDS, None))
    each = zip(cases, zip(*by_rank, strict=True), strict=True)
    return [timed(case, of_ranks).median * 1e6 for case, of_ranks in each]


def cases_of(collective: str, ranks: int, pairs: list[tuple[str, int]]) -> list[Case]:
    """Of float32, on one node."""
    return [
        Case.sized(collective, nbytes, ranks, "float32", algorithm=name) for name, nbytes in pairs
    ]


def chosen(collective: str, ranks: int) -> dict[str, str]:
    """The default by size, as ranks that share cores choose it."""
    cases = cases_of(collective, ranks, [("", nbytes) for nbytes in SIZES])
    first = burst(weft_library("core"), Job(cases, 0, 1))[0]
    return {str(nbytes): one.algorithm or "" for nbytes, one in zip(SIZES, first, strict=True)}


def ratio(row: Row, over: str, nbytes: int) -> list[float]:
    """Of each round: the default's time over another way's."""
    pairs = zip(row["us"]["default"][str(nbytes)], row["us"][over][str(nbytes)], strict=True)
    return [default / other for default, other in pairs]


def line(row: Row, nbytes: int) -> list[str]:
    """A row of the table."""
    key = str(nbytes)
    loses = statistics.median(ratio(row, "challenger", nbytes))
    itself = [max(one, 1 / one) - 1 for one in ratio(row, "again", nbytes)]
    noise = sorted(itself)[-2]  # all rounds but one are within it
    shown = f"**{loses:.2f}**" if loses > 1 + noise else f"{loses:.2f}"
    return [
        row["turn"]["collective"], str(row["turn"]["ranks"]), size(nbytes),
        f"`{short(row['default'][key])}`", digits(statistics.median(row["us"]["default"][key])),
        f"`{short(row['challenger'][key])}`", shown, f"{noise:.2f}",
    ]  # fmt: skip


def short(name: str) -> str:
    """Without its collective."""
    return name.partition("/")[2]


def part(rows: list[Row]) -> str:
    """A table for each processor."""
    header = ["collective", "ranks", "bytes", "default", "µs", "quickest other",
              "default / other", "noise"]  # fmt: skip
    tables = []
    for processor in dict.fromkeys(row["processor"] for row in rows):
        mine = sorted(
            of(rows, processor=processor),
            key=lambda row: (row["turn"]["ranks"], COLLECTIVES.index(row["turn"]["collective"])),
        )
        lines = [line(row, nbytes) for row in mine for nbytes in SIZES]
        tables.append(f"### {processor}\n\n{table(header, lines)}")
    return "\n\n".join(tables)


def main() -> None:
    """Measures, if asked to, and writes the tables."""
    if asked_for_data(__doc__):
        forget_user_choices()
        record = Record(DATA / f"{NAME}.jsonl", each_processor=True)
        record.take(
            [{"ranks": ranks, "collective": name} for ranks in RANKS for name in COLLECTIVES],
            measured,
        )
        record.end()
    fill(NAME, {NAME: part(read(NAME)), "before": part(read(f"{NAME}_before"))})


if __name__ == "__main__":
    main()
