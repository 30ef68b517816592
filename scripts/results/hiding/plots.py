"""The plots of caffe_gpi.md."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hiding.cases import METERED, SKEWED, Row
from hiding.figures import of_turn

WINDOW = 0.06  # seconds over which bytes are counted


def bytes_over_time(rows: list[Row], path: Path) -> None:
    """Both directions of host 0's link, for each way."""
    from matplotlib.figure import Figure

    found = [(how, of_turn(rows, part="bytes", how=how)) for how in METERED]
    found = [(how, own[0]) for how, own in found if own]
    if not found:
        return
    figure = Figure(figsize=(10, 1.6 * len(found) + 0.8), layout="constrained")
    axes = figure.subplots(len(found), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axis, (how, row) in zip(axes, found, strict=True):
        for column, name, colour in ((1, "received", "#2563a8"), (2, "sent", "#d98b4a")):
            axis.plot(*_rate(row["counters"], column), color=colour, label=name, linewidth=1)
        axis.set_title(how, fontsize=9, loc="left")
        axis.grid(alpha=0.3)
    axes[0].legend(loc="upper right", fontsize=8)
    axes[-1].set_xlabel("seconds")
    figure.supylabel("Gbit/s at the master's host", fontsize=9)
    figure.savefig(path, dpi=110)


def _rate(counters: list[list[float]], column: int) -> tuple[list[float], list[float]]:
    """Times, and Gbit/s in the window before each."""
    times, rates, first = [], [], 0
    for row in counters:
        while row[0] - counters[first][0] > WINDOW:
            first += 1
        passed = row[0] - counters[first][0]
        if passed > WINDOW / 2:
            times.append(row[0])
            rates.append((row[column] - counters[first][column]) * 8e-3 / passed)
    return times, rates


def skew(rows: list[Row], folder: Path, name: str) -> None:
    """The timelines with a rank that is late, as pictures; and the traces, for Perfetto."""
    from weft.train.tracing.picture import draw
    from weft.train.tracing.trace import read_trace

    for how in SKEWED:
        for row in of_turn(rows, part="skew", how=how):
            with tempfile.TemporaryDirectory() as place:
                file = Path(place) / "trace.json"
                file.write_text(json.dumps(row["trace"]))
                ending = "barrier" if "barrier" in how else "free"
                draw(read_trace(file), folder / f"{name}_skew_{ending}.png")
