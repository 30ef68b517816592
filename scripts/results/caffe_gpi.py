"""Writes docs/results/caffe_gpi.md's tables and plots: training steps that hide communication.

From caffe_gpi.jsonl. With --data it first measures what is not there yet (an hour; needs root, and
Open MPI for one row): hosts are network namespaces of this machine (testing/network.py). Each turn
is written as soon as it is over, so a run that was stopped goes on where it was. Delete the file to
measure all of it again.

    python scripts/results/caffe_gpi.py --data              everything
    python scripts/results/caffe_gpi.py --data steps        some parts
    python scripts/results/caffe_gpi.py --trial             a little of everything, into build/
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from record import Record

from hiding import cases, plots, tables
from page import DATA, RESULTS, fill, read

ROOT = Path(__file__).resolve().parents[2]
NAME = "caffe_gpi"
# In this order, so that a run which is stopped has something of everything.
PARTS = {
    "layers": cases.layers_turns, "bytes": cases.bytes_turns, "worker": cases.worker_turns,
    "skew": cases.skew_turns, "node": cases.node_turns, "equal": cases.equal_turns,
    "steps": cases.steps_turns,
}  # fmt: skip


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
    os.chdir(ROOT)
    from hiding.measure import measured

    amount = cases.TRIAL if trial else cases.FULL
    record = Record((ROOT / "build" if trial else DATA) / f"{NAME}.jsonl")
    for part in parts or PARTS:
        print(f"== {part}: ", end="")
        record.take(PARTS[part](amount), lambda turn: measured(turn, amount))
    return record


def write_page() -> None:
    """The tables and the plots, from the data alone."""
    rows = read(NAME)
    fill(NAME, {
        "machine": tables.machine(rows),
        "goals": tables.goals(rows),
        "alexnet": tables.steps(rows, "alexnet"),
        "lenet": tables.steps(rows, "lenet"),
        "ideal": tables.ideal(rows),
        "hidden": tables.hidden(rows),
        "equal": tables.equal(rows),
        "node": tables.node(rows),
        "worker": tables.worker(rows),
        "skew": tables.skew(rows),
    })  # fmt: skip
    plots.bytes_over_time(rows, RESULTS / f"{NAME}_bytes.png")
    plots.skew(rows, RESULTS, NAME)
    print(f"wrote {RESULTS / NAME}.md")


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
