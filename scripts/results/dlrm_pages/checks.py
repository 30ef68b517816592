"""The tables of dlrm.md beside those of steps: correctness, memory, collectives."""

from __future__ import annotations

from dlrm_pages import figures
from dlrm_pages.cases import ALONE, COLLECTIVES, LIBRARIES, NAMES, SIZES, WEFT, Row
from dlrm_pages.cells import DTYPES, NOTHING, cell

from page import digits, table


def equal(rows: list[Row]) -> str:
    """How far the ranks are from one process."""
    lines = [
        [row["turn"]["place"], row["turn"]["exchange"], row["turn"]["dtype"],
         f"{figures.difference(row):.1e}", f"{figures.RELATIVE[row['turn']['dtype']]:.0e}"]
        for row in figures.of_turn(rows, part="equal")
    ]  # fmt: skip
    head = ["nodes x ranks", "exchange", "", "relative difference", "at most"]
    return table(head, lines or [[NOTHING, *[""] * 4]])


def auc(rows: list[Row]) -> str:
    """AUC on the planted log."""
    lines = [
        [row["turn"]["place"], NAMES[row["turn"]["how"]], DTYPES[row["turn"]["dtype"]],
         f"{row['auc']:.4f}", cell(figures.auc_distance(rows, row), "{:+.4f}"),
         f"{row['best']:.4f}"]
        for row in figures.of_turn(rows, part="auc")
    ]  # fmt: skip
    head = ["nodes x ranks", "", "", "AUC", "from one process, float32", "the best possible"]
    return table(head, lines or [[NOTHING, *[""] * 5]])


def memory(rows: list[Row]) -> str:
    """Tables and the most resident memory of each rank, of overlapping steps in one node."""
    lines = []
    for config in SIZES:
        for place, how in (("1 x 1", ALONE), ("1 x 2", WEFT), ("1 x 4", WEFT)):
            found = figures.of_turn(rows, part="steps", config=config, place=place, how=how,
                                    dtype="float32", exchange="alltoall")  # fmt: skip
            if not found:
                continue
            each = found[0]["memory"]
            names = ("tables", "perceptrons", "resident")
            columns = [", ".join(f"{one[name] / 1e6:.0f}" for one in each) for name in names]
            counts = ", ".join(str(len(one["numbers"])) for one in each)
            lines.append([config, place, counts, *columns,
                          f"{found[0]['whole_table_bytes'] / 1e6:.0f}"])  # fmt: skip
    head = ["", "nodes x ranks", "tables of each rank", "their MB", "perceptrons, MB",
            "most resident, MB", "MB of all tables"]  # fmt: skip
    return table(head, lines or [[NOTHING, *[""] * 6]])


def collectives(rows: list[Row]) -> str:
    """A line for each of the document's collectives."""
    lines = []
    for config, name, whole, counts in COLLECTIVES:
        for ranks in counts:
            what = {"config": config, "collective": name, "ranks": ranks}
            times = {
                library: figures.collective_ms(rows, **what, library=library)
                for library in LIBRARIES
            }
            mine = times["weft"]
            others = [time for library, time in times.items() if library != "weft" and time]
            lines.append([
                config, f"{name}, {whole:g} MiB", str(ranks),
                *(digits(time) if time else NOTHING for time in times.values()),
                cell(mine / min(others) if mine and others else None, "**{:.2f}**"),
            ])  # fmt: skip
    return table(
        ["", "", "ranks", *(f"{name}, ms" for name in LIBRARIES.values()), "Weft over the fastest"],
        lines,
    )
