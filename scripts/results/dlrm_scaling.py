"""Writes docs/results/dlrm_scaling.md's tables and plots: DLRM on up to 64 sockets, simulated.

From dlrm_operators.jsonl, what was measured on this machine, and dlrm_scaling.jsonl, the simulated
steps. With --data it first measures what is not there yet (ten minutes, at least two cores), then
simulates all steps again (some minutes). Each turn is written as soon as it is over, so a
measurement that was stopped goes on where it was. Delete dlrm_operators.jsonl to measure again.
"""

from __future__ import annotations

from record import Record
from scaling import checks, plots, simulation, tables
from scaling.cases import Row, operator_turns

from page import DATA, RESULTS, asked_for_data, fill, read, steps, write

NAME, OPERATORS = "dlrm_scaling", "dlrm_operators"


def measured(turn: Row) -> Row:
    """One turn."""
    from scaling import communication, operators, stealing

    parts = {"perceptrons": operators.perceptrons, "tables": operators.tables,
             "slowdown": stealing.measured, "communication": communication.measured}  # fmt: skip
    return parts[turn["part"]](turn)


def make_data() -> None:
    """Measures what is missing, and simulates. Ends the program if a turn failed."""
    record = Record(DATA / f"{OPERATORS}.jsonl")
    record.take(operator_turns(), measured)
    record.end()
    rows = read(OPERATORS)
    found = [checks.simulated(case) for case in steps("collectives", checks.cases())]
    found += [simulation.simulated(case, rows) for case in steps("steps", simulation.cases())]
    write(NAME, found)


def write_page() -> None:
    """The tables and the plots, from the data alone."""
    rows, operator_rows = read(NAME), read(OPERATORS)
    fill(NAME, {
        "goals": tables.goals(rows),
        "strong": tables.scaling(rows, "strong"),
        "weak": tables.scaling(rows, "weak"),
        "breakdown": tables.breakdown(rows),
        "operators": tables.by_operator(operator_rows),
        "varied": tables.varied(rows),
        "node ratios": tables.node_ratios(rows),
        "nodes": tables.nodes(rows),
        "machine": "; ".join(sorted({row["processor"] for row in operator_rows})),
        "measured": tables.measured(operator_rows),
        "communicating": tables.communicating(operator_rows),
        "checks": tables.checks(rows),
    })  # fmt: skip
    plots.strong(rows, RESULTS / f"{NAME}_strong.png")
    plots.weak(rows, RESULTS / f"{NAME}_weak.png")
    plots.breakdown(rows, RESULTS / f"{NAME}_breakdown.png")
    plots.nodes(rows, RESULTS / f"{NAME}_nodes.png")


def main() -> None:
    """Makes the data if that is asked for, and writes the page."""
    if asked_for_data(__doc__):
        make_data()
    write_page()


if __name__ == "__main__":
    main()
