"""Writes the tables of docs/results/regret.md: what the defaults lose on two ranks.

Beside the best candidate, and beside other libraries (`make peers`).

    python scripts/results/regret.py             from regret.jsonl and regret_peers.jsonl
    python scripts/results/regret.py --data      first measures what is not there for this processor
    python scripts/results/regret.py --trial     a little, into build/; prints the tables

Needs an idle machine with two cores, for about an hour. A measurement that was stopped goes on
where it was. To measure a processor again, delete its rows.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from defaults import peer_tables, peers
from defaults.placement import Placement
from defaults.tables import COLLECTIVES, parts
from defaults.today import choices
from record import Record

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import weft_library
from weft.bench.processes import burst
from weft.bench.processor import describe_processor
from weft.tune import forget_user_choices
from weft.tune.candidates import algorithms
from weft.tune.heat import Heat, pick
from weft.tune.measure import Here, seconds_of, timed
from weft.tune.point import Point, Timed, Timing, Turns
from weft.tune.points import builtin

from page import DATA, fill, read

ROOT = Path(__file__).resolve().parents[2]
NAME = "regret"
PEERS_NAME = "regret_peers"
RANKS = 2
MEMORIES = ["ordinary", "symmetric"]
SIZES = [8, 256, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 25 << 20, 100 << 20]
PAIRS = 20
Row = dict[str, Any]


def turns(collectives: list[str], sizes: list[int]) -> list[Row]:
    """All cells, the longest last: they take most of the time."""
    return [
        {"collective": collective, "memory": memory, "bytes": size}
        for size, collective, memory in itertools.product(sizes, collectives, MEMORIES)
    ]


class Steady(Here):
    """Turns with the cores where they mostly are."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    def turn(self, point: Point, names: list[str]) -> list[Timing]:
        """As Here."""
        return self._placement.steady(lambda: Here.turn(self, point, names))


def measured(turn: Row, pairs: int) -> Row:
    """A cell: pass one picks a candidate, pass two runs it and the default."""
    start = time.monotonic()
    placement = Placement()
    symmetric = turn["memory"] == "symmetric"
    point = Point(turn["collective"], RANKS, 1, symmetric, (turn["bytes"],))
    default = builtin(point)
    names = algorithms(point.collective, RANKS, symmetric=symmetric)
    heat = pick(default, names, Turns(point, Steady(placement)))
    if heat.challenger is None:
        raise ValueError("there is no other candidate")
    candidates = known(heat)
    print("\n    pass one, µs: " + ", ".join(f"{n} {us:g}" for n, us in candidates.items()))
    picked = time.monotonic()
    row = versus(point, heat.challenger, pairs, placement)
    taken = time.monotonic() - picked
    print(
        f"    {default} against {heat.challenger}: {statistics.median(row['ratios']):.3f}; "
        f"pass one {picked - start:.1f} s, a pair {taken / pairs:.2f} s: ", end="", flush=True,
    )  # fmt: skip
    return {"default": default, "challenger": heat.challenger, "candidates": candidates, **row,
            **placement.counts()}  # fmt: skip


def known(heat: Heat) -> dict[str, float]:
    """Microseconds in pass one; first those that met in its last turns, then those dropped."""
    last = sorted(heat.seconds.items(), key=lambda item: item[1])
    before = [(name, seconds) for name, (seconds, _) in heat.dropped.items()]
    return {name: round(seconds[0] * 1e6, 3) for name, seconds in [*last, *before]}


def versus(point: Point, challenger: str, pairs: int, placement: Placement) -> Row:
    """Pass two. Each pair takes turns in who is first; a second run of the default follows."""
    defaults, challengers, again = [], [], []

    def run(algorithm: str) -> Timed:
        return placement.steady(lambda: fresh(point, algorithm))

    for pair in range(pairs):
        order = ["", challenger] if pair % 2 == 0 else [challenger, ""]
        taken = {algorithm: run(algorithm) for algorithm in order}
        defaults.append(taken[""])
        challengers.append(taken[challenger])
        again.append(run(""))
    return {
        "ratios": ratios(defaults, challengers),
        "default_against_itself": ratios(again, defaults),
        "default_us": median_us([*defaults, *again]),
        "challenger_us": median_us(challengers),
        "p99_over_median": round(statistics.median(one.p99 / one.median for one in defaults), 2),
    }


def fresh(point: Point, algorithm: str) -> Timed:
    """One run in fresh processes; without an algorithm it is what the communicator chooses."""
    plain = Case.sized(point.collective, point.sizes[0], RANKS, "float32")
    case = dataclasses.replace(plain, symmetric=point.symmetric, algorithm=algorithm)
    by_rank = burst(weft_library("core"), Job([case], seconds_of(case), None))
    return timed(case, tuple(rank[0] for rank in by_rank))


def ratios(over: list[Timed], under: list[Timed]) -> list[float]:
    """Of each pair."""
    return [float(f"{a.median / b.median:.5g}") for a, b in zip(over, under, strict=True)]


def median_us(taken: list[Timed]) -> float:
    """Microseconds."""
    return round(statistics.median(one.median for one in taken) * 1e6, 3)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", action="store_true", help="measure first what is not there")
    parser.add_argument("--trial", action="store_true", help="measure a little, into build/")
    return parser.parse_args()


def take(folder: Path, collectives: list[str], sizes: list[int], pairs: int, rounds: int) -> None:
    """Measures what is not there in the folder. Beside the peers first: that takes less."""
    if why := peers.missing():
        sys.exit(why)
    choices(describe_processor(), [])  # raises before anything is measured, not after
    beside = Record(folder / f"{PEERS_NAME}.jsonl", each_processor=True)
    beside.take(
        [{"collective": collective} for collective in collectives],
        lambda turn: peers.measured(turn, RANKS, sizes, rounds),
    )
    record = Record(folder / f"{NAME}.jsonl", each_processor=True)
    record.take(turns(collectives, sizes), lambda turn: measured(turn, pairs))
    if folder != DATA:
        print(
            "\n\n".join([*parts(record.rows(), choices).values(), peer_tables.part(beside.rows())])
        )
    beside.end()
    record.end()


def main() -> None:
    """Measures, if asked to, and writes the tables."""
    asked = arguments()
    os.chdir(ROOT)
    forget_user_choices()
    if asked.trial:
        take(ROOT / "build", COLLECTIVES[:2], [8, 64 << 10], 3, 2)
        return
    if asked.data:
        take(DATA, COLLECTIVES, SIZES, PAIRS, peers.ROUNDS)
    fill(NAME, {**parts(read(NAME), choices), "peers": peer_tables.part(read(PEERS_NAME))})


if __name__ == "__main__":
    main()
