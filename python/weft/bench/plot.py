"""Latency and bandwidth over message size, all libraries in one picture."""

from __future__ import annotations

from weft.bench.cases import size_text
from weft.bench.results import Row, title
from weft.errors import Unsupported

_COLOURS = {"weft": "#1f6fb4", "gloo": "#d1702b"}


def require_matplotlib() -> None:
    """Raises Unsupported naming the extra that brings it. Call it before measuring."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise Unsupported(f"--plot needs matplotlib ({error}): pip install 'weft[plot]'") from None


def plot(found: list[Row], path: str) -> None:
    """Writes `path`, whose ending says the format (png, svg, pdf)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    latency, bandwidth = figure.subplots(1, 2)
    for library in dict.fromkeys(row.library for row in found):
        of_it = [row for row in found if row.library == library]
        sizes = [row.bytes for row in of_it]
        style = {"marker": "o", "markersize": 4, "label": library, "color": _COLOURS.get(library)}
        latency.plot(sizes, [row.median_us for row in of_it], **style)
        latency.fill_between(
            sizes, [row.min_us for row in of_it], [row.p99_us for row in of_it],
            color=style["color"], alpha=0.15, linewidth=0,
        )  # fmt: skip
        bandwidth.plot(sizes, [row.busbw_GBps for row in of_it], **style)
    latency.set_ylabel("time of an operation (µs)\nmedian; shaded: minimum to 99th percentile")
    bandwidth.set_ylabel("bus bandwidth (GB/s)")
    sizes = sorted({row.bytes for row in found})
    for axes in (latency, bandwidth):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(sizes, [size_text(size) for size in sizes], rotation=_tilt(sizes))
        axes.minorticks_off()
        axes.set_xlabel("message size (bytes)")
        axes.grid(True, which="major", alpha=0.3)
        axes.legend()
    figure.suptitle(title(found))
    figure.savefig(path, dpi=120)


def _tilt(sizes: list[int]) -> int:
    """Degrees by which labels must lean so that they do not meet."""
    return 0 if len(sizes) <= 10 else 60
