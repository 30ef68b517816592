"""The plot of dlrm.md: what a step of MLPerf's model is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dlrm_pages import figures
from dlrm_pages.cases import BOTH, EVERYWHERE, GLOO, MPI, NAMES, NATIVE, WEFT, Row, turn
from matplotlib.figure import Figure

COLOURS = {"compute": "#b8b8b8", "allreduce": "#1f6fb4", "alltoall": "#d1702b"}
CONFIG, DTYPE = "mlperf", "float32"


def parts(rows: list[Row], path: Path) -> None:
    """Stacked bars: compute, exposed allreduce, exposed alltoall; a panel for each place."""
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    for axes, where in zip(figure.subplots(2, 3).ravel(), EVERYWHERE, strict=True):
        _panel(axes, rows, where)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.suptitle("A step of MLPerf's model, float32: computation, and waits for communication")
    figure.savefig(path, dpi=100)


def _panel(axes: Any, rows: list[Row], where: tuple[str, str]) -> None:
    bars = {}
    for how in (WEFT, GLOO, MPI, NATIVE):
        for steps in BOTH:
            found = figures.parts(rows, turn(CONFIG, where, how, DTYPE, steps))
            if found:
                bars[f"{NAMES[how]}, {steps}"] = found
    left = [0.0] * len(bars)
    for part, colour in COLOURS.items():
        widths = [one[part] for one in bars.values()]
        exposed = part if part == "compute" else f"exposed {part}"
        axes.barh(list(bars), widths, left=left, color=colour, label=exposed)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    place, rate = where
    axes.set(title=f"{place}, {rate}" if rate else f"{place}, one node", xlabel="ms a step")
    axes.grid(axis="x", alpha=0.3)
