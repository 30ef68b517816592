"""One picture of a run: times, bandwidths, Weft beside the best peer, and shares of the limit."""

from __future__ import annotations

from typing import Any

from weft.bench.results import Row, title
from weft.errors import Unsupported
from weft.sizes import size_text

_STYLES: dict[str, dict[str, Any]] = {
    "weft": {"color": "#1f6fb4", "linewidth": 2.4, "zorder": 3},
    "gloo": {"color": "#d1702b"},
    "openmpi": {"color": "#3a923a"},
    "mpich": {"color": "#9367b8"},
    "intelmpi": {"color": "#c03d3e"},
    "oneccl": {"color": "#8a6d3b"},
    "limit": {"color": "#222222", "linestyle": "--", "marker": ""},
}
_NAMES = {
    "weft": "Weft", "gloo": "Gloo", "openmpi": "Open MPI", "mpich": "MPICH",
    "intelmpi": "Intel MPI", "oneccl": "oneCCL", "limit": "memory accesses only",
}  # fmt: skip


def require_matplotlib() -> None:
    """Raises Unsupported naming the extra that brings it. Call it before measuring."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise Unsupported(f"--plot needs matplotlib ({error}): pip install 'weft[plot]'") from None


def plot(found: list[Row], path: str) -> None:
    """Writes `path`, whose ending says the format (png, svg, pdf)."""
    from matplotlib.figure import Figure

    by_library: dict[str, dict[int, Row]] = {}
    for row in found:
        by_library.setdefault(row.library, {})[row.bytes] = row
    peers = {name: rows for name, rows in by_library.items() if name not in ("weft", "limit")}
    panels = [_times, _bandwidths]
    panels += [_ratios] if peers else []
    panels += [_shares] if "limit" in by_library else []
    lines = (len(panels) + 1) // 2
    figure = Figure(figsize=(13, 4.6 * lines + 0.5), layout="constrained")
    axes = figure.subplots(lines, 2, squeeze=False).ravel()
    for panel, place in zip(panels, axes, strict=False):
        panel(place, by_library)
        _sizes_below(place, sorted({row.bytes for row in found}))
    for unused in axes[len(panels) :]:
        unused.remove()
    figure.suptitle(f"{title(found)}\n{found[0].processor}")
    figure.savefig(path, dpi=110)


def _line(axes: Any, name: str, points: dict[int, float]) -> None:
    style = {"marker": "o", "markersize": 4, "linewidth": 1.4, **_STYLES[name]}
    axes.plot(list(points), list(points.values()), label=_NAMES[name], **style)


def _times(axes: Any, by_library: dict[str, dict[int, Row]]) -> None:
    for name, rows in by_library.items():
        _line(axes, name, {size: row.median_us for size, row in rows.items()})
    weft = by_library["weft"]
    axes.fill_between(
        list(weft), [row.min_us for row in weft.values()], [row.p99_us for row in weft.values()],
        color=_STYLES["weft"]["color"], alpha=0.15, linewidth=0,
        label="Weft, minimum to 99th percentile",
    )  # fmt: skip
    axes.set(yscale="log", ylabel="µs, median", title="Time of an operation (lower is better)")
    axes.legend(fontsize="small")


def _bandwidths(axes: Any, by_library: dict[str, dict[int, Row]]) -> None:
    for name, rows in by_library.items():
        _line(axes, name, {size: row.busbw_GBps for size, row in rows.items()})
    axes.set(yscale="log", ylabel="GB/s", title="Bus bandwidth (higher is better)")


def _ratios(axes: Any, by_library: dict[str, dict[int, Row]]) -> None:
    ratios, best = {}, {}
    for size, row in by_library["weft"].items():
        peers = [rows[size] for name, rows in by_library.items() if name not in ("weft", "limit")]
        first = min(peers, key=lambda peer: peer.median_us)
        ratios[size], best[size] = row.median_us / first.median_us, _NAMES[first.library]
    _line(axes, "weft", ratios)
    axes.axhline(1, color="#222222", linewidth=1)
    for size, ratio in ratios.items():
        axes.annotate(
            f"{ratio:.2f}\n{best[size]}", (size, ratio), xytext=(0, 7),
            textcoords="offset points", ha="center", fontsize="x-small",
        )  # fmt: skip
    axes.set(
        ylim=(0, max(1.2, 1.25 * max(ratios.values()))), ylabel="ratio of medians",
        title="Weft's time over that of the fastest peer, which is named (below 1: Weft is faster)",
    )  # fmt: skip


def _shares(axes: Any, by_library: dict[str, dict[int, Row]]) -> None:
    limit = by_library["limit"]
    for name, rows in by_library.items():
        shares = {size: 100 * limit[size].median_us / row.median_us for size, row in rows.items()}
        _line(axes, name, shares)
    axes.set(
        ylim=(0, None), ylabel="% of the limit's speed",
        title="How near to the memory accesses alone, without messages",
    )  # fmt: skip


def _sizes_below(axes: Any, sizes: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [size_text(size) for size in sizes], rotation=_tilt(sizes))
    axes.minorticks_off()
    axes.set_xlabel("message size (bytes)")
    axes.grid(True, which="major", alpha=0.3)


def _tilt(sizes: list[int]) -> int:
    """Degrees by which labels must lean so that they do not meet."""
    return 0 if len(sizes) <= 10 else 60
