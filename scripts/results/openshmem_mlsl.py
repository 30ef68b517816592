"""Writes docs/results/openshmem_mlsl.md's tables and plots: OpenSHMEM and MPI under LeNet.

From openshmem_mlsl.jsonl. With --data it first measures what is not there yet (forty minutes; needs
root and `make peers`): hosts are network namespaces of this machine (testing/network.py). Each turn
is written as soon as it is over, so a run that was stopped goes on where it was. Delete the file to
measure all of it again.

    python scripts/results/openshmem_mlsl.py --data              everything
    python scripts/results/openshmem_mlsl.py --data messages     some parts
    python scripts/results/openshmem_mlsl.py --trial             a little of everything, into build/
"""

from __future__ import annotations

from measured_page import Part, run
from mlsl import plots, tables
from mlsl.cases import FULL, TRIAL
from record import Record

from page import RESULTS, fill, read

NAME = "openshmem_mlsl"
# In this order, so that a run which is stopped has something of everything.
PARTS = ("messages", "training", "simulation", "model_group", "seeds")


def measuring(record: Record, trial: bool) -> dict[str, Part]:
    """The turns of each part, and what measures one."""
    from mlsl import groups, messages, simulation, training

    amount = TRIAL if trial else FULL
    return {
        "messages": (messages.turns(amount), lambda turn: messages.measured(turn, amount)),
        "training": (training.turns(amount), lambda turn: training.measured(turn, amount)),
        "simulation": (
            simulation.turns(amount),
            lambda turn: simulation.measured(turn, record.rows()),
        ),
        "model_group": (groups.turns(amount), lambda turn: groups.measured(turn, amount)),
        "seeds": (training.further_seeds(amount), lambda turn: training.measured(turn, amount)),
    }


def write_page() -> None:
    """The tables and the plots, from the data alone."""
    rows = read(NAME)
    fill(NAME, {
        "machine": tables.machine(rows),
        "sizes": tables.message_sizes(),
        "goals": tables.goals(rows),
        "two ranks": tables.messages(rows, 2),
        "four ranks": tables.messages(rows, 4),
        "training": tables.training(rows),
        "long": tables.long(rows),
        "document": tables.document(),
        "equal": tables.equal(rows),
        "control": tables.control(rows),
        "inputs": tables.inputs(rows),
        "simulation": tables.simulation(rows),
        "group equality": tables.group_equality(rows),
        "group exchanges": tables.group_exchanges(rows),
    })  # fmt: skip
    plots.messages(rows, RESULTS / f"{NAME}_messages.png")
    plots.training(rows, RESULTS / f"{NAME}_training.png")
    plots.ratios(rows, RESULTS / f"{NAME}_ratios.png")


def main() -> None:
    """Measures if that is asked for, and writes the page."""
    run(__doc__ or "", NAME, PARTS, measuring, write_page)


if __name__ == "__main__":
    main()
