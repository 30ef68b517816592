"""One picture a link's speed: time over bytes, a panel for each way the ranks lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from links.cases import PLACES, RATES, SIZES, Row, wire
from matplotlib.figure import Figure

from page import of, size

STYLES: dict[str, dict[str, Any]] = {
    "weft": {"label": "Weft", "color": "#1f6fb4", "linewidth": 2.2, "zorder": 3},
    "weft_system": {
        "label": "Weft, libfabric 1.17",
        "color": "#1f6fb4",
        "linestyle": "--",
        "zorder": 3,
    },
    "openmpi": {"label": "Open MPI", "color": "#3a923a"},
    "mpich": {"label": "MPICH", "color": "#9367b8"},
    "weft_torch": {"label": "Weft, torch", "color": "#1f6fb4", "linestyle": ":", "zorder": 3},
    "gloo": {"label": "Gloo, torch", "color": "#d1702b"},
}


WIRE = {"label": "the wire alone", "color": "#222222", "linestyle": "--", "linewidth": 1}


def plot(rows: list[Row], rate: str, path: Path) -> None:
    """Writes `path`."""
    figure = Figure(figsize=(13, 8.5), layout="constrained")
    *panels, legend = figure.subplots(2, 3).ravel()
    for axes, place in zip(panels, PLACES, strict=True):
        _panel(axes, of(rows, place=place), rate, place)
    legend.axis("off")
    legend.legend(*panels[0].get_legend_handles_labels(), loc="center", fontsize="large")
    figure.suptitle(f"Allreduce between hosts, {rate}: the slowest rank's time")
    figure.savefig(path, dpi=100)


def _panel(axes: Any, rows: list[Row], rate: str, place: str) -> None:
    for library, style in STYLES.items():
        points = {SIZES.index(row["bytes"]): row["least_us"] for row in of(rows, library=library)}
        axes.plot(points.keys(), points.values(), marker="o", markersize=4, **style)
    if RATES[rate] is not None:
        bound = {SIZES.index(nbytes): wire(rate, place, nbytes) for nbytes in SIZES[1:]}
        axes.plot(bound.keys(), bound.values(), **WIRE)
    axes.set(yscale="log", title=place, ylabel="µs")
    axes.set_xticks(range(len(SIZES)), [size(nbytes) for nbytes in SIZES], fontsize="small")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
