"""A timeline as a picture: three rows for each rank, time to the right."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from weft.errors import Unsupported
from weft.train.tracing.recorder import COMPUTE, WAIT
from weft.train.tracing.trace import Slice, Trace, common, own_parts, union

_COLOURS = {
    "forward": "#2563a8", "backward": "#d98b4a", "update": "#2c8a4b",
    "hidden": "#6f8299", "exposed": "#c03d3e", "wait": "#e3c9c9",
}  # fmt: skip
_LABELS = {
    "forward": "forward", "backward": "backward", "update": "update",
    "hidden": "communication, hidden", "exposed": "communication, exposed",
    "wait": "program waits",
}  # fmt: skip
_ROWS = ("compute", "communication", "wait")
_ROW_OF = {
    "forward": 0, "backward": 0, "update": 0, "hidden": 1, "exposed": 1, "label": 1, "wait": 2,
}  # fmt: skip
_NARROW = 0.02  # of the picture's width: no room for a name
_LETTERS = 170  # that fit side by side


def draw(trace: Trace, path: str | Path) -> None:
    """Writes the picture; the file's ending says the format (png, svg, pdf).

    Raises:
        Unsupported: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ImportError as error:
        raise Unsupported(
            f"a picture needs matplotlib ({error}): pip install 'weft[plot]'"
        ) from None
    ranks = len(trace.slices)
    end = max((one.end for slices in trace.slices for one in slices), default=1.0)
    figure = Figure(figsize=(14, 1.4 + 1.3 * ranks), layout="constrained")
    axes = figure.subplots(1, 1)
    for rank, slices in enumerate(trace.slices):
        for bar in _bars(slices):
            _draw_bar(axes, bar, -4 * rank - _ROW_OF[bar.kind], end)
    places = [-4 * rank - row for rank in range(ranks) for row in range(3)]
    names = [f"rank {rank}  {row}" for rank in range(ranks) for row in _ROWS]
    axes.set_yticks(places, names, fontsize=8)
    axes.set(xlim=(0, end / 1e3), ylim=(-4 * ranks + 1.4, 0.6), xlabel="ms")
    axes.grid(True, axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    patches = [Patch(color=_COLOURS[kind], label=_LABELS[kind]) for kind in _COLOURS]
    figure.legend(handles=patches, loc="outside upper center", ncols=6, fontsize=8)
    figure.savefig(path, dpi=110)


class _Bar(NamedTuple):
    begin: float
    end: float
    kind: str
    label: str


def _draw_bar(axes: Any, bar: _Bar, row: int, whole: float) -> None:
    wide = bar.end - bar.begin
    if bar.kind != "label":
        axes.barh(
            row, wide / 1e3, left=bar.begin / 1e3, height=0.85, color=_COLOURS[bar.kind],
            edgecolor="white", linewidth=0.3,
        )  # fmt: skip
    if bar.label and wide > _NARROW * whole:
        label = _fitting(bar.label, int(wide / whole * _LETTERS))
        middle = (bar.begin + bar.end) / 2e3
        axes.text(middle, row, label, ha="center", va="center", fontsize=7, color="white")


def _fitting(names: str, letters: int) -> str:
    """As many of the names as there is room for."""
    while len(names) > letters and ", " in names:
        names = names.removesuffix(" …").rpartition(", ")[0] + " …"
        if ", " not in names:
            break
    return names if len(names) <= letters else ""


def _bars(slices: list[Slice]) -> list[_Bar]:
    """The bars of one rank, and the labels of its collectives, which lie on two bars."""
    bars = []
    for one in slices:
        kind, _, layer = one.name.partition(" ")
        if one.track == COMPUTE and (layer or kind == "update"):
            bars.append(_Bar(one.begin, one.end, kind if kind in _COLOURS else "update", layer))
        elif one.track == WAIT:
            bars.append(_Bar(one.begin, one.end, "wait", ""))
    waits = union([(one.begin, one.end) for one in slices if one.track == WAIT])
    for one, begin in own_parts(slices):
        bars.append(_Bar(begin, one.end, "hidden", ""))
        bars += [_Bar(*part, "exposed", "") for part in common((begin, one.end), waits)]
        bars.append(_Bar(begin, one.end, "label", ", ".join(one.layers) or one.name))
    return bars
