"""Writes docs/results/wire.md's tables: float32 allreduces and a training, bf16 on the wire or not.

From wire.jsonl; --data first measures again (two minutes): hosts are network namespaces of this
machine (testing/network.py).
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from weft.bench.processor import describe_processor

from page import asked_for_data, digits, fill, of, read, size, steps, table, write

ROOT = Path(__file__).resolve().parents[2]
RATE = "1gbit"
ROUNDS = 3
ITERATIONS = 300
WIRES = {"none": "float32", "bfloat16": "bf16"}
# The host of each rank.
PLACES = {"2 x 1": [0, 1], "2 x 2": [0, 0, 1, 1]}
Row = dict[str, Any]


def measured() -> list[Row]:
    """All rows. Both take turns; processes are fresh in each."""
    sys.path.insert(0, str(ROOT / "testing"))
    from network import Hosts  # isort: skip
    from ranks.wire import learn, measure  # isort: skip

    env = {"WEFT_INTERFACE": "eth0", "WEFT_TUNING": "none", "OMP_NUM_THREADS": "1"}
    turns = [(place, wire) for place in PLACES for _ in range(ROUNDS) for wire in WIRES]
    found: dict[tuple[str, str, int], list[float]] = {}
    for place, wire in steps("turns", turns):
        with Hosts(PLACES[place], rate=RATE) as hosts, hosts.team(env) as team:
            for nbytes, samples in team.run(measure, wire, timeout=100)[0].items():
                found.setdefault((place, wire, nbytes), []).extend(samples)
    rows: list[Row] = [
        {
            "what": "allreduce", "place": place, "wire": wire, "bytes": nbytes,
            "median_us": round(statistics.median(samples) * 1e6, 2),
            "min_us": round(min(samples) * 1e6, 2), "samples": len(samples),
            "processor": describe_processor(),
        }
        for (place, wire, nbytes), samples in found.items()
    ]  # fmt: skip
    for wire in steps("trainings", list(WIRES)):
        with (
            Hosts(PLACES["2 x 2"], rate=RATE) as hosts,
            hosts.team(env | {"WEFT_WIRE": wire}) as team,
        ):
            result = team.run(learn, ITERATIONS, timeout=200)[0]
        rows.append({"what": "LeNet", "wire": wire, "iterations": ITERATIONS, **result})
    return rows


def allreduce_row(rows: list[Row], place: str, nbytes: int) -> list[str]:
    """Both medians, and how many times faster the second is."""
    plain, narrow = (
        of(rows, what="allreduce", place=place, wire=wire, bytes=nbytes)[0]["median_us"]
        for wire in WIRES
    )
    return [place, size(nbytes), digits(plain), digits(narrow), f"**{plain / narrow:.2f}**"]


def lenet_row(rows: list[Row], wire: str) -> list[str]:
    """What came of a training."""
    row = of(rows, what="LeNet", wire=wire)[0]
    same = "the same" if row["parameters_identical"] else "**other ones**"
    return [WIRES[wire], f"{100 * row['accuracy']:.2f} %", f"{row['loss']:.4f}", same,
            digits(row["seconds"])]  # fmt: skip


def main() -> None:
    """Writes the tables."""
    if asked_for_data(__doc__):
        write("wire", measured())
    rows = read("wire")
    sizes = sorted({row["bytes"] for row in of(rows, what="allreduce")})
    fill("wire", {
        "allreduce": table(
            ["hosts x ranks", "bytes", "float32", "bf16", "times faster"],
            [allreduce_row(rows, place, nbytes) for place in PLACES for nbytes in sizes],
        ),
        "lenet": table(
            ["on the wire", "accuracy", "last loss", "parameters on all ranks", "seconds"],
            [lenet_row(rows, wire) for wire in WIRES],
        ),
    })  # fmt: skip


if __name__ == "__main__":
    main()
