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

from measured_page import Part, run
from record import Record

from hiding import cases, plots, tables
from page import RESULTS, fill, read

NAME = "caffe_gpi"
# In this order, so that a run which is stopped has something of everything.
PARTS = {
    "layers": cases.layers_turns, "bytes": cases.bytes_turns, "worker": cases.worker_turns,
    "skew": cases.skew_turns, "node": cases.node_turns, "equal": cases.equal_turns,
    "pairs": cases.pairs_turns, "steps": cases.steps_turns,
}  # fmt: skip


def measuring(_: Record, trial: bool) -> dict[str, Part]:
    """The turns of each part, and what measures one."""
    from hiding.measure import measured

    amount = cases.TRIAL if trial else cases.FULL
    return {part: (turns(amount), lambda turn: measured(turn, amount))
            for part, turns in PARTS.items()}  # fmt: skip


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
        "pairs": tables.pairs(rows),
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
    run(__doc__ or "", NAME, list(PARTS), measuring, write_page)


if __name__ == "__main__":
    main()
