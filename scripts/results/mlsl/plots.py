"""The plots of openshmem_mlsl.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from mlsl.cases import DOCUMENT_ACCURACY, DOCUMENT_SECONDS, NATIVE, TRAININGS, Row, place_name
from mlsl.figures import (
    accuracy,
    exchange,
    faster,
    microseconds,
    of_turn,
    ratio,
    simulated,
    trainings,
)
from mlsl.tables import NAMES, WHOLE

MPI, SHMEM, WEFT, OTHER = "#3a923a", "#d1702b", "#1f6fb4", "#888888"
_WAYS = {False: ("o", "one after the other"), True: ("s", "started together")}


def messages(rows: list[Row], path: Path) -> None:
    """The eight messages: every round of every library, on two ranks and on four."""
    figure = Figure(figsize=(13, 5.6), layout="constrained")
    for axes, ranks in zip(figure.subplots(1, 2, sharey=True), (2, 4), strict=True):
        for height, library in enumerate(NAMES):
            for together, (mark, _) in _WAYS.items():
                times = microseconds(rows, library, ranks, together)
                axes.plot(times, [height + (0.12 if together else -0.12)] * len(times), mark,
                          color=_colour(library), ms=5, alpha=0.7)  # fmt: skip
        base = faster(rows, "openmpi", ranks)
        if base and ranks == 2:
            axes.axvline(0.7 * base, color="#444444", linestyle="--", linewidth=1)
            axes.text(0.7 * base, len(NAMES) - 0.4, " 0.70 of Open MPI", fontsize="small")
        axes.set(xscale="log", xlabel="µs", title=f"{ranks} ranks" + ", on 2 cores" * (ranks > 2))
        axes.set_yticks(range(len(NAMES)), list(NAMES.values()))
        axes.grid(alpha=0.3)
    for mark, name in _WAYS.values():
        figure.axes[1].plot([], [], mark, color=OTHER, label=name)
    figure.axes[1].legend(loc="lower right")
    figure.axes[0].invert_yaxis()
    figure.suptitle("LeNet's eight gradients: the slowest rank's time, a point a round")
    figure.savefig(path, dpi=100)


def _colour(library: str) -> str:
    if library.startswith("weft"):
        return WEFT
    return SHMEM if "shmem" in library else OTHER if library == "gloo" else MPI


def training(rows: list[Row], path: Path) -> None:
    """The long trainings, and accuracy over processes beside the document's."""
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    losses, rights, over = figure.subplots(1, 3)
    for row, (colour, dash) in zip(of_turn(rows, part="long"), _LINES, strict=False):
        done, loss, right = zip(*row["curve"], strict=True)
        turn = row["turn"]
        name = f"{turn['place']}, {turn['fabric']}" if turn["fabric"] else "one process"
        losses.plot(done, loss, dash, color=colour, label=name)
        rights.plot(done, [100 * one for one in right], dash, color=colour, label=name)
    losses.set(yscale="log", title="loss", xlabel="iterations")
    rights.set(title="accuracy, %", xlabel="iterations", ylim=(95, 100))
    losses.legend() if losses.lines else None
    _over_processes(rows, over)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


_LINES = [("#222222", "-"), (WEFT, "--"), (SHMEM, ":")]


def _over_processes(rows: list[Row], axes: Any) -> None:
    places = sorted(DOCUMENT_ACCURACY, key=lambda place: (place[0] * place[1], place))
    ranks = [nodes * each for nodes, each in places]
    for which, (name, colour) in enumerate((("MPI", MPI), ("SHMEM", SHMEM))):
        values = [100 * DOCUMENT_ACCURACY[place][which] for place in places]
        axes.plot(ranks, values, "x", ms=7, color=colour, label=f"document, {name}")
    for place, fabric, algorithm in TRAININGS:
        mean = accuracy(trainings(rows, place, fabric, algorithm))
        if mean is not None:
            nodes, each = map(int, place.split(" x "))
            axes.plot([nodes * each], [mean], "o", ms=4, color=WEFT, alpha=0.7)
    axes.plot([], [], "o", color=WEFT, label="here, each fabric, mean of the seeds")
    axes.set(title="accuracy, %, over processes", xscale="log", xlabel="processes", ylim=(95, 100))
    axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axes.minorticks_off()
    axes.legend(loc="lower left", fontsize="small")


def ratios(rows: list[Row], path: Path) -> None:
    """OpenSHMEM over MPI by place: the document's, measured, simulated."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots()
    names = [place_name(*place) for place in DOCUMENT_SECONDS]
    series: dict[str, tuple[list[float | None], str, str]] = {
        "document: training": (
            [shmem / mpi for mpi, shmem in DOCUMENT_SECONDS.values()], SHMEM, "x"),
        "measured: training": ([_measured(rows, place) for place in DOCUMENT_SECONDS], WEFT, "o"),
        "simulated: iteration": (
            [_simulated(rows, *place)[0] for place in DOCUMENT_SECONDS], OTHER, "s"),
        "simulated: messages": (
            [_simulated(rows, *place)[1] for place in DOCUMENT_SECONDS], OTHER, "^"),
    }  # fmt: skip
    for name, (values, colour, mark) in series.items():
        known = [(at, value) for at, value in enumerate(values) if value is not None]
        axes.plot([at for at, _ in known], [value for _, value in known], mark, color=colour,
                  ms=7, label=name)  # fmt: skip
    axes.axhline(1, color="#bbbbbb", linewidth=1)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="OpenSHMEM / MPI", xlabel="nodes x ranks a node", ylim=(0, 1.3))
    axes.legend(loc="lower left", ncols=2)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def _measured(rows: list[Row], place: tuple[int, int]) -> float | None:
    if place not in WHOLE:
        return None
    name, fabric = WHOLE[place]
    return ratio(trainings(rows, name, fabric, ""), trainings(rows, name, "mpi", NATIVE))


def _simulated(rows: list[Row], nodes: int, each: int) -> tuple[float | None, float | None]:
    mpi, shmem = (simulated(rows, nodes, each, library) for library in ("MPI", "OpenSHMEM"))
    if mpi is None or shmem is None:
        return None, None
    messages = exchange(shmem) / exchange(mpi) if mpi["messages"] else None
    return shmem["seconds"] / mpi["seconds"], messages
