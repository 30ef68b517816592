"""Draws the picture of the README: allreduce through Weft, Gloo and the fastest MPI over size."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.figure import Figure

from page import RESULTS, read, size

MPIS = ("openmpi", "mpich", "intelmpi")
MEASURED = "22 November 2026"  # the rows carry no date: change it with the data
INK = "#24292f"


def medians(name: str, *libraries: str) -> dict[int, float]:
    """The least median of these libraries in microseconds, by size.

    Raises:
        ValueError: a result was wrong.
    """
    found: dict[int, float] = {}
    for row in read(name):
        if row["library"] not in libraries:
            continue
        if not row["correct"]:
            raise ValueError(f"{name}: {row['library']} was wrong at {row['bytes']} bytes")
        found[row["bytes"]] = min(row["median_us"], found.get(row["bytes"], row["median_us"]))
    return found


def line(axes: Any, points: dict[int, float], label: str, at: int, **style: Any) -> None:
    """A line with its name beside the point of `at` bytes: above it, or below if `at` < 0."""
    axes.plot(list(points), list(points.values()), marker="o", markersize=4, **style)
    axes.annotate(
        label,
        (abs(at), points[abs(at)]),
        xytext=(0, 9 if at > 0 else -18),
        textcoords="offset points",
        color=style["color"],
        ha="center",
        fontweight="bold",
    )


def main() -> None:
    """Writes docs/results/overview.svg."""
    matplotlib.rcParams |= {
        "svg.hashsalt": "weft",
        "svg.fonttype": "none",
        "text.color": INK,
        "axes.labelcolor": INK,
    }
    figure = Figure(figsize=(8.6, 5), layout="constrained", facecolor="white")
    axes = figure.subplots()
    line(axes, medians("allreduce_torch", "gloo"), "Gloo, torch", 4096, color="#b4541a")
    line(axes, medians("allreduce_torch", "weft"), "Weft, torch", 256, color="#1f6fb4", ls="--")
    line(axes, medians("allreduce", *MPIS), "fastest MPI, C", 256, color="#3a7f3a")
    line(axes, medians("allreduce", "weft"), "Weft, C++", -256, color="#1f6fb4", lw=2.4)

    sizes = list(medians("allreduce", "weft"))
    axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="µs for one allreduce", ylim=0.1)
    axes.set_xticks(sizes, [size(nbytes) for nbytes in sizes])
    axes.set_yticks([10.0**power for power in range(-1, 5)])
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Allreduce of float32 on two ranks of one host: lower is faster", loc="left")
    figure.supxlabel(
        f"{read('allreduce')[0]['processor']}; {MEASURED}; medians", fontsize="small", color=INK
    )
    figure.savefig(RESULTS / "overview.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
