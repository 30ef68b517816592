"""Writes docs/results/caffe_gpi_scaling.md's tables and plot: CaffeGPI's networks, simulated.

From caffe_gpi_scaling.jsonl; --data first simulates what is missing there (minutes for all of it).
"""

from __future__ import annotations

from page import DATA, asked_for_data, fill, read

NAME = "caffe_gpi_scaling"


def simulate() -> None:
    """Adds the turns that are not there. Ends the program with 1 if one fails."""
    from record import Record

    from gpi.cases import layer_turns, one_node_turns, step_turns, variant_turns
    from gpi.simulation import taken

    record = Record(DATA / f"{NAME}.jsonl")
    record.take(layer_turns(), lambda turn: taken(turn, []))
    rows = record.rows()
    turns = [*variant_turns(), *one_node_turns(), *step_turns()]
    record.take(turns, lambda turn: taken(turn, rows))
    record.end()


def main() -> None:
    """Writes tables and plots."""
    if asked_for_data(__doc__):
        simulate()
    from gpi import plot, tables

    rows = read(NAME)
    fill(NAME, tables.every(rows))
    plot.write(rows)


if __name__ == "__main__":
    main()
