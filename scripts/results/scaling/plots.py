"""The plots of dlrm_scaling.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from scaling.cases import NODE_CONFIGURATIONS, NODES, SCALINGS, Row
from scaling.figures import compute, efficiency, rate, speed_up, step
from scaling.simulation import FAST_BF16

COLOURS = {"workers": "#1f6fb4", "stealing": "#d1702b"}
NAMES = {"workers": "workers on cores of their own", "stealing": "communication steals"}
PARTS = {"compute": "#8fb8da", "exchange": "#d1702b", "gradients": "#3a923a"}


def strong(rows: list[Row], path: Path) -> None:
    """Speed-ups over the baseline, and the document's."""
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    for axes, (name, one) in zip(figure.subplots(1, 3), SCALINGS.items(), strict=True):
        for backend, colour in COLOURS.items():
            gained = [speed_up(rows, name, n, backend=backend) for n in one.sockets]
            axes.plot(one.sockets, gained, "o-", color=colour, label=NAMES[backend])
        ideal = [n / one.baseline for n in one.sockets]
        axes.plot(one.sockets, ideal, ":", color="#888888", label="ideal")
        for (backend, (low, high)), who in zip(one.said.items(), ("oneCCL", "MPI"), strict=True):
            axes.errorbar(one.at, (low + high) / 2, yerr=(high - low) / 2, fmt="x", ms=9, mew=2,
                          color=COLOURS[backend], capsize=4, label=f"document, {who}")  # fmt: skip
        _sockets(axes, one.sockets, name)
        axes.set(
            ylabel=f"speed-up over {one.baseline} socket{'s' * (one.baseline > 1)}", yscale="log"
        )
        ticks = [t for t in (0.5, 1, 2, 4, 8, 16) if t <= 1.3 * max(ideal)]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.minorticks_off()
    figure.axes[0].legend(loc="upper left", fontsize="small")
    figure.suptitle("Strong scaling, simulated")
    figure.savefig(path, dpi=100)


def weak(rows: list[Row], path: Path) -> None:
    """Efficiencies of weak scaling."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    for axes, (name, one) in zip(figure.subplots(1, 3, sharey=True), SCALINGS.items(), strict=True):
        for backend, colour in COLOURS.items():
            shares = [100 * efficiency(rows, name, n, "weak", backend) for n in one.sockets]
            axes.plot(one.sockets, shares, "o-", color=colour, label=NAMES[backend])
        _sockets(axes, one.sockets, f"{name}, {one.weak} records a socket")
        axes.set(ylim=(0, None))
    figure.axes[0].set_ylabel("efficiency over the baseline, %")
    figure.axes[0].legend(loc="lower left")
    figure.suptitle("Weak scaling, simulated")
    figure.savefig(path, dpi=100)


def breakdown(rows: list[Row], path: Path) -> None:
    """Stacked bars: compute and exposed communication of large and MLPerf."""
    figure = Figure(figsize=(13, 9), layout="constrained")
    panels = figure.subplots(2, 2)
    for line, name in zip(panels, ("large", "mlperf"), strict=True):
        for axes, blocking in zip(line, (True, False), strict=True):
            counts = [n for n in SCALINGS[name].sockets if n > 1]
            for shift, backend in ((-0.2, "stealing"), (0.2, "workers")):
                own = [step(rows, part="strong", configuration=name, sockets=n, backend=backend,
                            blocking=blocking) for n in counts]  # fmt: skip
                _stack(axes, [i + shift for i in range(len(counts))], own, backend)
            axes.set_xticks(range(len(counts)), [str(n) for n in counts])
            axes.set(title=f"{name}, {'blocking' if blocking else 'overlapping'}", xlabel="sockets",
                     ylabel="ms a step")  # fmt: skip
        top = max(axes.get_ylim()[1] for axes in line)
        for axes in line:
            axes.set_ylim(0, top)
    panels[0][0].legend(title="left: steals; right (outlined): own cores")
    figure.suptitle("Compute and exposed communication, simulated")
    figure.savefig(path, dpi=100)


def _stack(axes: Any, places: list[float], own: list[Row], backend: str) -> None:
    below = [0.0] * len(own)
    for part, colour in PARTS.items():
        heights = [1e3 * (compute(row) if part == "compute" else row[part]) for row in own]
        axes.bar(places, heights, 0.36, bottom=below, color=colour,
                 edgecolor="#222222" if backend == "workers" else colour, linewidth=0.8,
                 label=part if backend == "workers" else None)  # fmt: skip
        below = [a + b for a, b in zip(below, heights, strict=True)]


def nodes(rows: list[Row], path: Path) -> None:
    """Records a second of the two nodes, float32 and bf16."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    fast = FAST_BF16.name
    looks = {("skx8", "float32", ""): "#888888", ("cpx4", "float32", ""): "#8fb8da",
             ("cpx4", "bfloat16", ""): "#1f6fb4",
             ("cpx4", "bfloat16", fast): "#0b3d66"}  # fmt: skip
    for axes, name in zip(figure.subplots(1, 2), NODE_CONFIGURATIONS, strict=True):
        for (topology, dtype, assumed), colour in looks.items():
            sockets = NODES[topology][0]
            rates = [rate(step(rows, part="strong", configuration=name, topology=topology,
                               dtype=dtype, sockets=n, backend="workers", assumed=assumed)) / 1e3
                     for n in sockets]  # fmt: skip
            words = ", ".join(filter(None, (topology, dtype, assumed)))
            axes.plot(sockets, rates, "o-", color=colour, label=words)
        _sockets(axes, NODES["skx8"][0], name)
        axes.set(ylabel="thousand records a second", ylim=(0, None))
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.suptitle(
        "A node of four Cooper Lake sockets and one of eight Skylake sockets, simulated"
    )
    figure.savefig(path, dpi=100)


def _sockets(axes: Any, sockets: tuple[int, ...], title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sockets, [str(n) for n in sockets], minor=False)
    axes.set(xlabel="sockets", title=title)
    axes.grid(alpha=0.3)
