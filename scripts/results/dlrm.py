"""Writes docs/results/dlrm.md's tables and plot: DLRM's training steps, over Weft, Gloo and MPI.

From dlrm.jsonl. With --data it first measures what is not there yet (about an hour; needs root,
openmpi-bin, and `make peers` for the peers' collectives): hosts are network namespaces of this
machine (testing/network.py). Each turn is written as soon as it is over, so a run that was stopped
goes on where it was. Delete the file to measure all of it again.

    python scripts/results/dlrm.py --data              everything
    python scripts/results/dlrm.py --data steps        some parts
    python scripts/results/dlrm.py --trial             a little of everything, into build/
"""

from __future__ import annotations

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
from measured_page import Part, run
from record import Record

from page import RESULTS, fill, read

NAME = "dlrm"
# In this order, so that a run which is stopped has something of everything.
PARTS = ("correctness", "steps", "further", "collectives")


def measuring(_: Record, trial: bool) -> dict[str, Part]:
    """The turns of each part, and what measures one. Says which libraries are not there."""
    from dlrm_pages.measure import collective, library, trained

    amount = TRIAL if trial else FULL
    missing = {name: library(name).missing() for name in LIBRARIES}
    for name, why in missing.items():
        if why:
            print(f"{name} is not measured: {why}", flush=True)

    def train(turn: Row) -> Row:
        return trained(turn, amount)

    return {
        "correctness": (correctness_turns(), train),
        "steps": (step_turns(amount), train),
        "further": (further_turns(amount), train),
        "collectives": (
            [turn for turn in collective_turns(amount) if not missing[turn["library"]]],
            lambda turn: collective(turn, amount),
        ),
    }


def write_page() -> None:
    """The tables and the plot, from the data alone."""
    rows = read(NAME)
    fill(NAME, tables.all_of(rows))
    plots.parts(rows, RESULTS / f"{NAME}.png")


def main() -> None:
    """Measures if that is asked for, and writes the page."""
    run(__doc__ or "", NAME, PARTS, measuring, write_page)


if __name__ == "__main__":
    main()
