"""Writes docs/results/dlrm.md's tables and plot: DLRM's training steps, over Weft, Gloo and MPI.

From dlrm.jsonl. With --data it first measures what is not there yet (forty minutes; needs root,
openmpi-bin, and `make peers` for the peers' collectives): hosts are network namespaces of this
machine (testing/network.py). Each turn is written as soon as it is over, so a run that was stopped
goes on where it was. Delete the file to measure all of it again.

    python scripts/results/dlrm.py --data              everything
    python scripts/results/dlrm.py --data steps        some parts
    python scripts/results/dlrm.py --trial             a little of everything, into build/
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from dlrm_pages import plots, tables
from dlrm_pages.cases import (
    FULL,
    LIBRARIES,
    TRIAL,
    Row,
    collective_turns,
    correctness_turns,
    further_turns,
    step_turns,
)
from record import Record

from page import DATA, RESULTS, fill, read

ROOT = Path(__file__).resolve().parents[2]
NAME = "dlrm"
# In this order, so that a run which is stopped has something of everything.
PARTS = ("correctness", "steps", "further", "collectives")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", choices=PARTS, help="measure first; by default all")
    parser.add_argument("--trial", nargs="*", choices=PARTS, help="measure a little, into build/")
    return parser.parse_args()


def measure(parts: list[str], trial: bool) -> Record:
    """Adds to the data what is missing."""
    sys.path.insert(0, str(ROOT / "testing"))
    os.chdir(ROOT)  # from where weft.bench finds the peers
    from dlrm_pages.measure import collective, library, trained

    amount = TRIAL if trial else FULL
    record = Record((ROOT / "build" if trial else DATA) / f"{NAME}.jsonl")
    missing = {name: library(name).missing() for name in LIBRARIES}
    for name, why in missing.items():
        if why:
            print(f"{name} is not measured: {why}", flush=True)

    def train(turn: Row) -> Row:
        return trained(turn, amount)

    steps: dict[str, tuple[list[Row], Callable[[Row], Row]]] = {
        "correctness": (correctness_turns(), train),
        "steps": (step_turns(amount), train),
        "further": (further_turns(), train),
        "collectives": (
            [turn for turn in collective_turns(amount) if not missing[turn["library"]]],
            lambda turn: collective(turn, amount),
        ),
    }
    for part in parts or PARTS:
        print(f"== {part}: ", end="")
        record.take(*steps[part])
    return record


def write_page() -> None:
    """The tables and the plot, from the data alone."""
    rows = read(NAME)
    fill(NAME, tables.all_of(rows))
    plots.parts(rows, RESULTS / f"{NAME}.png")


def main() -> None:
    """Measures if that is asked for, and writes the page."""
    options = arguments()
    if options.trial is not None:
        measure(options.trial, trial=True).end()
        return
    record = measure(options.data, trial=False) if options.data is not None else None
    write_page()
    if record:
        record.end()


if __name__ == "__main__":
    main()
