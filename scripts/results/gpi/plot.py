"""The plot of the page."""

from __future__ import annotations

from typing import Any

from gpi.cases import (
    ALLREDUCE,
    CUT,
    DOCUMENT,
    NAMES,
    PHASES,
    PIPED,
    SECONDS,
    SHARDED,
    TREE,
    Row,
    node_counts,
)  # fmt: skip
from gpi.figures import bound, strategies_of, times_as_fast
from page import RESULTS

COLOURS = {PHASES: "#7f7f7f", TREE: "#c03d3e", PIPED: "#d1702b", SHARDED: "#3a923a",
           ALLREDUCE: "#1f6fb4", CUT: "#123f66"}  # fmt: skip
PANELS = [[("alexnet", p) for p in ("CPU", "K80", "P100", "KNL")] + [("inception_v3", "P100")],
          [("googlenet", p) for p in ("CPU", "K80", "P100", "KNL")]]  # fmt: skip


def write(rows: list[Row]) -> None:
    """Times as fast over nodes, a panel for each network and processor."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 6.4), layout="constrained")
    axes = figure.subplots(2, 5)
    for line, panels in zip(axes, PANELS, strict=True):
        for panel, case in zip(line, panels, strict=False):
            _draw(panel, rows, *case)
    for line in axes:
        line[0].set_ylabel("times as fast as one node")
    axes[1][4].axis("off")
    handles = {label: line for line, label in zip(*_legend(axes[0]), strict=True)}
    axes[1][4].legend(handles.values(), handles.keys(), loc="center")
    figure.savefig(RESULTS / "caffe_gpi_scaling.png", dpi=90)


def _draw(panel: Any, rows: list[Row], network: str, processor: str) -> None:
    counts = node_counts(network)
    panel.plot(counts, counts, ":", color="#999999", label="ideal")
    most = [bound(rows, network, processor, n) for n in counts]
    panel.plot(counts, most, "--", color="black", label="bound")
    for strategy in strategies_of(processor):
        found = [(n, times_as_fast(rows, network, processor, n, strategy)) for n in counts]
        there = [(n, value) for n, value in found if value is not None]
        panel.plot(*zip(*there, strict=True), marker="o", ms=3, color=COLOURS[strategy],
                   label=strategy)  # fmt: skip
    if (network, processor) == ("alexnet", "K80"):
        panel.plot([4], [DOCUMENT], "kx", ms=8, label="the document's")
    panel.set_xscale("log", base=2)
    panel.set_yscale("log", base=2)
    panel.set_xticks(counts, [str(n) for n in counts])
    ticks = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]
    panel.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.set(ylim=(0.1, 80), xlabel="nodes")
    panel.set_title(f"{NAMES[network]}, {processor}, {SECONDS[network, processor]:g} s")
    panel.grid(alpha=0.3)


def _legend(panels: Any) -> tuple[list[Any], list[str]]:
    lines, labels = [], []
    for panel in panels:
        own, names = panel.get_legend_handles_labels()
        lines += own
        labels += names
    return lines, labels
