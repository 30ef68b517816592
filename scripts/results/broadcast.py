"""Writes docs/results/broadcast.md's tables and plots: six models of broadcasts beside the plans.

From broadcast_models.jsonl; --data first prices and simulates all of it again (some minutes).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from page import RESULTS, asked_for_data, fill, of, read, size, steps, table, write

START, BANDWIDTH, PCIE = 0.4e-6, 12e9, 12e9  # seconds a message; bytes a second
RANKS = (2, 4, 8, 16, 32, 64)
SIZES = [1 << power for power in range(10, 29)]
Row = dict[str, Any]


def hop(nbytes: float) -> float:
    """One message of the models."""
    return START + nbytes / BANDWIDTH


def whole(n: int, m: int) -> int:
    """One chunk."""
    return m


def best_chunk(n: int, m: int) -> int:
    """The pipelined chain's, in whole chunks: the root of M B ts / (n-2), rounded."""
    if n == 2:
        return m
    chunks = max(1, round(m / math.sqrt(m * BANDWIDTH * START / (n - 2))))
    return -(-math.ceil(m / chunks) // 64) * 64


@dataclass(frozen=True)
class Model:
    """A formula of the document and the plan that it is about."""

    algorithm: str
    formula: Callable[[int, int, int], float]  # of ranks, bytes, bytes of a chunk
    chunk: Callable[[int, int], int] = whole
    params: dict[str, int] = field(default_factory=dict)
    ports: str = "one"
    copies: bool = False  # copies are counted, at PCIe's bandwidth


def knomial(radix: int) -> Callable[[int, int, int], float]:
    """Formula (3)."""
    return lambda n, m, c: math.ceil(math.log(n, radix) - 1e-9) * hop(m)


MODELS = {
    "direct": Model("broadcast/one_shot", lambda n, m, c: (n - 1) * hop(m)),
    "chain": Model("broadcast/chain", lambda n, m, c: (n - 1) * hop(m)),
    "k-nomial": Model("broadcast/knomial", knomial(2)),
    "scatter-ring": Model(
        "broadcast/scatter_ring",
        lambda n, m, c: (math.log2(n) + n - 1) * START + 2 * (n - 1) / n * m / BANDWIDTH,
    ),
    "pipelined chain": Model(
        "broadcast/chain", lambda n, m, c: (math.ceil(m / c) + n - 2) * hop(c), best_chunk
    ),
    "staged k-nomial": Model(
        "broadcast/knomial_staged", lambda n, m, c: m / PCIE + knomial(2)(n, m, c), copies=True
    ),
}
# For k > 2 formula (3) holds where a rank sends to several at once with all of its bandwidth.
RADIXES = {
    f"k = {k}, {ports} port{'s' * (ports == 'many')}": Model(
        "broadcast/knomial", knomial(k), params={"radix": k}, ports=ports
    )
    for k in (4, 8)
    for ports in ("many", "one")
}
NAMES = list(MODELS)
# What the staged plan does: a slot that was received is copied into the own one, then sent on.
AS_COPIED = "a copy at each hop"


# --- data ---------------------------------------------------------------------------------------


def star(ranks: int, model: Model) -> Any:
    """The models' network: ranks on a switch, full duplex, a start-up time a message."""
    from weft.topology import Rates, Wire, flat

    one = model.ports == "one"
    wire = Wire(latency=0, bandwidth=BANDWIDTH, overhead=START, shared=one)
    rates = Rates(copy=PCIE) if model.copies else Rates()
    return flat(ranks, wire, one_port=one, rates=rates, name="star")


def case(name: str, model: Model, ranks: int, nbytes: int) -> Row:
    """One row of the data: by formula, priced, simulated."""
    import weft

    chunk = model.chunk(ranks, nbytes)
    how = {"nbytes": nbytes, "chunk": chunk, "params": model.params}
    place = star(ranks, model)
    return {
        "model": name, "ranks": ranks, "bytes": nbytes, "chunk": chunk,
        "formula": model.formula(ranks, nbytes, chunk),
        "priced": weft.price(model.algorithm, place, **how).seconds,
        "simulated": weft.simulate(model.algorithm, place, model="plain", **how).seconds,
    }  # fmt: skip


def data() -> list[Row]:
    """All rows, made again."""
    wanted = [(name, m, n, b) for name, m in MODELS.items() for n in RANKS for b in SIZES]
    wanted += [
        (name, m, n, b) for name, m in RADIXES.items() for n in RANKS for b in (4096, 1 << 26)
    ]
    return [case(*one) for one in steps("broadcast models", wanted)]


# --- page ---------------------------------------------------------------------------------------


def off(rows: list[Row], kind: str, least: int = 0) -> str:
    """The largest difference from the formula, in per cent, with its sign."""
    rows = [row for row in rows if row["bytes"] >= least]
    worst = max((row[kind] / row["formula"] - 1 for row in rows), key=abs)
    return "0" if abs(worst) < 0.0005 else f"{100 * worst:+.1f}%"


def copied_at_each_hop(row: Row) -> Row:
    """A row of the staged k-nomial tree beside what its plan does."""
    copies = 1 + math.ceil(math.log2(row["ranks"]))
    formula = copies * row["bytes"] / PCIE + knomial(2)(row["ranks"], row["bytes"], 0)
    return {**row, "model": AS_COPIED, "formula": formula}


def agreement(rows: list[Row]) -> str:
    """How far prices and simulations are from the formulas."""
    lines = []
    staged = [copied_at_each_hop(row) for row in of(rows, model="staged k-nomial")]
    for name in [*NAMES, AS_COPIED]:
        own = of([*rows, *staged], model=name)
        model = MODELS.get(name, MODELS["staged k-nomial"])
        lines.append(
            [name, f"`{model.algorithm}`"]
            + [off(own, kind, least) for kind in ("priced", "simulated") for least in (0, 1 << 18)]
        )
    header = ["model", "plan", "priced", "from 256 KiB", "simulated", "from 256 KiB"]
    return table(header, lines)


def by_radix(rows: list[Row]) -> str:
    """k-nomial trees of larger k, with 64 ranks."""
    lines = []
    for name in RADIXES:
        for one in of(rows, model=name, ranks=64):
            times = [f"{one[kind] * 1e6:.1f}" for kind in ("formula", "priced", "simulated")]
            lines.append([name, size(one["bytes"]), *times])
    return table(["", "bytes", "formula, µs", "priced", "simulated"], lines)


def winner(times: dict[str, float]) -> str:
    """The fastest; of those alike the first in the order of NAMES."""
    order = ["k-nomial", "scatter-ring", "pipelined chain", "direct", "chain", "staged k-nomial"]
    least = min(times.values())
    return next(name for name in order if times[name] <= 1.001 * least)


def winners(rows: list[Row], ranks: int, kind: str) -> list[str]:
    """The fastest model at each size."""
    found = []
    for nbytes in SIZES:
        here = [row for row in of(rows, ranks=ranks, bytes=nbytes) if row["model"] in MODELS]
        found.append(winner({row["model"]: row[kind] for row in here}))
    return found


def crossing(rows: list[Row], ranks: int, kind: str, at: int, pair: tuple[str, str]) -> str:
    """Where two models are equal between SIZES[at - 1] and SIZES[at], on straight log-log lines."""

    def lead(nbytes: int) -> float:
        a, b = (of(rows, ranks=ranks, bytes=nbytes, model=name)[0][kind] for name in pair)
        return math.log(a / b)

    before, after = lead(SIZES[at - 1]), lead(SIZES[at])
    share = before / (before - after) if before != after else 0.5
    return near(SIZES[at - 1] * 2 ** min(1.0, max(0.0, share)))


def near(nbytes: float) -> str:
    """Bytes to two digits or three: 83 KiB."""
    if nbytes >= 1 << 20:
        return f"{nbytes / (1 << 20):.1f} MiB"
    return f"{nbytes / 1024:.0f} KiB"


def crossovers(rows: list[Row]) -> str:
    """Which model is fastest, and the sizes at which that changes."""
    lines = []
    for ranks in RANKS[1:]:
        cells = []
        for kind in ("formula", "priced", "simulated"):
            best = winners(rows, ranks, kind)
            text = best[0]
            for at in range(1, len(best)):
                if best[at] != best[at - 1]:
                    pair = (best[at - 1], best[at])
                    text += f" < {crossing(rows, ranks, kind, at, pair)} < {best[at]}"
            cells.append(text)
        lines.append([str(ranks), *cells])
    return table(["ranks", "by formula", "priced", "simulated"], lines)


COLOURS = ["#888888", "#c9a227", "#1f6fb4", "#3a923a", "#d1702b", "#9367b8"]


def plot_times(rows: list[Row]) -> None:
    """Formulas as lines, simulated plans as points, for 8 and 64 ranks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5.4), layout="constrained")
    for axes, ranks in zip(figure.subplots(1, 2, sharey=True), (8, 64), strict=True):
        for name, colour in zip(NAMES, COLOURS, strict=True):
            own = of(rows, model=name, ranks=ranks)
            sizes = [row["bytes"] for row in own]
            dash = "--" if name == "chain" else "-"  # it lies on the direct one
            times = [row["formula"] * 1e6 for row in own]
            axes.plot(sizes, times, dash, color=colour, label=name)
            axes.plot(sizes, [row["simulated"] * 1e6 for row in own], "o", color=colour, ms=4)
        axes.set(xscale="log", yscale="log", xlabel="bytes", title=f"{ranks} ranks")
        axes.set_xticks(SIZES[::4], [size(nbytes) + "B" for nbytes in SIZES[::4]])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("µs")
    figure.axes[0].legend(title="line: formula; point: simulated plan")
    figure.savefig(RESULTS / "broadcast_models.png", dpi=100)


def plot_winners(rows: list[Row]) -> None:
    """The fastest model by ranks and size, by formula and simulated."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(13, 3.4), layout="constrained")
    colours = dict(zip(NAMES, COLOURS, strict=True))
    for axes, kind in zip(
        figure.subplots(1, 2, sharey=True), ("formula", "simulated"), strict=True
    ):
        cells = [[NAMES.index(w) for w in winners(rows, n, kind)] for n in RANKS[1:]]
        axes.imshow(cells, cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=5.5, aspect="auto")
        axes.set_xticks(range(0, len(SIZES), 3), [size(b) + "B" for b in SIZES[::3]])
        axes.set_yticks(range(len(RANKS) - 1), [str(n) for n in RANKS[1:]])
        axes.set(title=f"fastest, {'by ' * (kind == 'formula')}{kind}", xlabel="bytes")
    figure.axes[0].set_ylabel("ranks")
    seen = {w for n in RANKS[1:] for k in ("formula", "simulated") for w in winners(rows, n, k)}
    figure.legend(
        handles=[Patch(color=colours[name], label=name) for name in NAMES if name in seen],
        loc="outside lower center", ncols=4,
    )  # fmt: skip
    figure.savefig(RESULTS / "broadcast_winners.png", dpi=100)


def main() -> None:
    """Writes tables and plots."""
    if asked_for_data(__doc__):
        write("broadcast_models", data())
    rows = read("broadcast_models")
    fill(
        "broadcast",
        {
            "agreement": agreement(rows),
            "radix": by_radix(rows),
            "crossovers": crossovers(rows),
        },
    )
    plot_times(rows)
    plot_winners(rows)


if __name__ == "__main__":
    main()
