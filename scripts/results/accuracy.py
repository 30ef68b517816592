"""Writes docs/results/accuracy.md: what the cost model predicts beside what was measured.

The data are rounds of two fresh processes: this machine is measured as `weft topology --measure`
does it, then every algorithm at every size, then the machine again. Prices are computed when the
page is written, so a better model needs no new data.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib
import numpy as np

import weft
from weft import _core
from weft.bench.cases import Case
from weft.bench.libraries import Launch
from weft.bench.processes import run_ranks
from weft.bench.processor import describe_processor
from weft.plan import algorithm_names
from weft.topology.measure import gathered, topology_from
from weft.topology.worker import described

from page import DATA, RESULTS, asked_for_data, digits, fill, read, size, steps, table, write

matplotlib.use("Agg")

RANKS = 2
ROUNDS = 8
SIZES = [8, 64, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 25 << 20]
SECONDS = 0.008  # of a case in a round
MOVED = 1.25  # ratio of two latencies of a round above which the round does not count
ROUND_SECONDS = 100.0  # far more than a round takes

Figures = dict[tuple[str, bool, int], list[tuple[float, float]]]  # predicted, measured seconds


def cases() -> Iterator[tuple[Case, bool]]:
    """Every algorithm at every size, and whether its buffers are symmetric."""
    for name in algorithm_names():
        collective = name.partition("/")[0]
        if collective == "sendrecv":
            continue
        symmetric = name == "allreduce/direct"
        for wanted in [0] if collective == "barrier" else SIZES:
            yield Case.sized(collective, wanted, RANKS, "float32", algorithm=name), symmetric
    for wanted in SIZES:
        yield (
            Case.sized("allreduce", wanted, RANKS, "float32", algorithm="allreduce/two_shot"),
            True,
        )


def rank(directory: Path, number: int) -> None:
    """One rank of a round; rank 0 writes what it saw into the directory."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[number]})
    rows: list[dict[str, Any]] = []
    with weft.init(number, RANKS, str(directory / "meet"), timeout=60.0) as comm:
        rows.append(described(comm.topology()))
        rows += [measured(comm, case, symmetric) for case, symmetric in cases()]
        rows.append(described(comm.topology()))
    if number == 0:
        (directory / "rows").write_text(json.dumps(rows))


def measured(comm: weft.Communicator, case: Case, symmetric: bool) -> dict[str, Any]:
    """A case, as a row."""

    def buffer(elements: int | None) -> np.ndarray | None:
        if elements is None:
            return None
        return weft.empty(elements, case.dtype) if symmetric else np.zeros(elements, case.dtype)

    before, after = case.sides(comm.rank)
    output = buffer(after)
    input = None if before is None else output if case.traits.in_one_buffer else buffer(before)
    once = _core.seconds_of(
        comm._core, case.collective, input, output, case.count, case.algorithm, 4
    )
    times = min(500, max(11, int(SECONDS / max(once, 1e-7))))
    seconds = _core.seconds_of(
        comm._core, case.collective, input, output, case.count, case.algorithm, times
    )
    return {"algorithm": case.algorithm, "symmetric": symmetric, "bytes": case.bytes,
            "seconds": seconds}  # fmt: skip


def measure() -> None:
    """Makes the data, round after round; what was stopped on the same day goes on."""
    made = {"processor": describe_processor(), "date": today()}
    rows = begun(made)
    done = len({row["round"] for row in rows})
    for number in steps("round", range(done, ROUNDS)):
        with tempfile.TemporaryDirectory(prefix="weft-accuracy-") as name:
            command = [sys.executable, __file__, "rank", name]
            commands = [[*command, str(rank)] for rank in range(RANKS)]
            run_ranks("accuracy", Launch(commands, {}), Path(name), ROUND_SECONDS)
            found = json.loads((Path(name) / "rows").read_text())
        rows += [{"round": number, **row} for row in found]
        write("accuracy", [made, *rows])


def begun(made: dict[str, Any]) -> list[dict[str, Any]]:
    """The rounds that are there of data made so, if some are still to come."""
    if not (DATA / "accuracy.jsonl").exists():
        return []
    before, *rows = read("accuracy")
    begun = before == made and len({row["round"] for row in rows}) < ROUNDS
    return rows if begun else []


def today() -> str:
    """As the page says it."""
    import datetime

    return datetime.date.today().isoformat()


def priced(rows: list[dict[str, Any]]) -> tuple[Figures, list[float], int]:
    """Of the rounds in which the machine stayed as it was; their latencies; how many did not."""
    figures: Figures = {}
    latencies, moved = [], 0
    for number in sorted({row["round"] for row in rows}):
        own = [row for row in rows if row["round"] == number]
        places = [row for row in own if "links" in row]
        first, last = (place["links"][0]["latency"] for place in places)
        if max(first, last) > MOVED * min(first, last):
            moved += 1
            continue
        latencies.append(median([first, last]))
        topology = topology_from(gathered([place | {"name": ""} for place in places]))
        for row in own:
            if "seconds" in row:
                key = (row["algorithm"], row["symmetric"], row["bytes"])
                figures.setdefault(key, []).append((price(topology, *key), row["seconds"]))
    return figures, latencies, moved


def price(topology: Any, algorithm: str, symmetric: bool, nbytes: int) -> float:
    """Seconds that the model predicts."""
    return weft.price(algorithm, topology, ranks=RANKS, nbytes=nbytes, symmetric=symmetric).seconds


def label(algorithm: str, symmetric: bool) -> str:
    """As tables and plot name it."""
    return f"{algorithm}, symmetric" if symmetric else algorithm


def ratio(pairs: list[tuple[float, float]]) -> float:
    """Predicted over measured: the median of the rounds."""
    return median(predicted / seen for predicted, seen in pairs)


def by_algorithm(figures: Figures) -> str:
    """Ratios: a row an algorithm, a column a size."""
    names = list(dict.fromkeys((algorithm, symmetric) for algorithm, symmetric, _ in figures))
    rows = []
    for name in names:
        if name[0].startswith("barrier"):
            cells = [f"{ratio(figures[(*name, 0)]):.2f}"] + [""] * (len(SIZES) - 1)
        else:
            cells = [f"{ratio(figures[(*name, nbytes)]):.2f}" for nbytes in SIZES]
        rows.append([label(*name), *cells])
    return table(["predicted / measured", *map(size, SIZES)], rows)


def chosen(figures: Figures) -> str:
    """Microseconds of what runs by default."""
    names = [("allreduce/one_shot", False), ("allreduce/two_shot", False),
             ("allreduce/two_shot", True), ("broadcast/one_shot", False)]  # fmt: skip
    rows = []
    for nbytes in SIZES:
        cells = []
        for name in names:
            pairs = figures[(*name, nbytes)]
            cells.append(
                " / ".join(digits(1e6 * median(side)) for side in zip(*pairs, strict=True))
            )
        rows.append([size(nbytes), *cells])
    return table(["bytes", *(label(*name) for name in names)], rows)


def summary(figures: Figures, latencies: list[float], moved: int, made: dict[str, Any]) -> str:
    """What came out, in sentences."""
    errors = [abs(ratio(pairs) - 1) for pairs in figures.values()]
    within = sum(error <= 0.25 for error in errors)
    worst = max(figures, key=lambda key: abs(ratio(figures[key]) - 1))
    low, high = (round(1e9 * of(latencies)) for of in (min, max))
    return (
        f"{made['processor']}; {made['date']}. {len(latencies)} rounds count, in which a message "
        f"took {low} to {high} ns; in {moved} more the machine moved its cores meanwhile.\n\n"
        f"**Median error {100 * median(errors):.1f}%** over {len(errors)} cases of an algorithm "
        f"and a size; {within} of them are within 25%. The worst is {label(*worst[:2])} at "
        f"{size(worst[2])}: {ratio(figures[worst]):.2f} times what was measured."
    )


def draw(figures: Figures) -> None:
    """All ratios over the size; the algorithms that stand for the others by name."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4.6), layout="constrained")
    axes.axhspan(0.75, 1.25, color="#e8eef5", zorder=0)
    axes.axhline(1, color="#888", linewidth=0.8, zorder=1)
    named = {"allreduce/two_shot": "#1f6fb4", "allreduce/ring": "#3a923a",
             "broadcast/one_shot": "#d1702b", "alltoall/direct": "#9367b8"}  # fmt: skip
    names = list(dict.fromkeys((a, s) for a, s, _ in figures if not a.startswith("barrier")))
    for name in names:
        colour = None if name[1] else named.get(name[0])
        axes.plot(
            SIZES, [ratio(figures[(*name, nbytes)]) for nbytes in SIZES], marker="o",
            markersize=5 if colour else 3, linewidth=2 if colour else 0.7,
            color=colour or "#b8b8b8", zorder=3 if colour else 2, label=name[0] if colour else None,
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xticks(SIZES, [size(nbytes) for nbytes in SIZES])
    axes.set_yscale("log")
    marks = [0.5, 0.75, 1, 1.25, 2]
    axes.set_yticks(marks, [str(mark) for mark in marks])
    axes.minorticks_off()
    axes.set_xlabel("bytes of the message")
    axes.set_ylabel("predicted / measured")
    axes.legend(frameon=False)
    axes.set_title(f"The cost model on this machine: {len(names)} algorithms, {RANKS} ranks")
    figure.savefig(RESULTS / "accuracy.png", dpi=110)


def main() -> None:
    """Makes the data if asked for, then the page and its plot."""
    if asked_for_data(__doc__):
        measure()
    made, *rows = read("accuracy")
    figures, latencies, moved = priced(rows)
    draw(figures)
    fill("accuracy", {
        "summary": summary(figures, latencies, moved, made),
        "ratios": by_algorithm(figures),
        "chosen": chosen(figures),
    })  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        rank(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
