"""Writes what docs/results/broadcast.md says of chains on trees of GPUs: PC, TA-PC, reversed.

From broadcast_chains.jsonl; --data first prices and simulates all of it again (some minutes).
"""

from __future__ import annotations

import random
from functools import cache
from statistics import median
from typing import Any

from page import RESULTS, asked_for_data, fill, of, read, size, steps, table, write

CHUNKS = [1 << power for power in range(13, 20)]
SIZES = [1 << power for power in range(20, 29, 2)]
MAIN = 64 << 20
CLUSTERS = {
    "rx3, 8 nodes of 2": ("rx3", 16),
    "rx1, a node of 8": ("rx1", 8),
    "rx1, 8 nodes of 8": ("rx1", 64),
}
DOCUMENT = {"rx3, 8 nodes of 2": "27%", "rx1, 8 nodes of 8": "50%"}
CHAINS = {"PC": "pc", "TA-PC": "ta_pc", "reversed": "chain_reversed"}
SAMPLES = 9
Row = dict[str, Any]


# --- data ---------------------------------------------------------------------------------------


def orders(ranks: int, nodes: int) -> dict[str, list[list[int]]]:
    """The places of ranks, by kind; nine of the random kind."""
    size_of_node = ranks // nodes
    shuffled = []
    for seed in range(SAMPLES):
        shuffled.append(list(range(ranks)))
        random.Random(seed).shuffle(shuffled[-1])
    turns = [(rank % nodes) * size_of_node + rank // nodes for rank in range(ranks)]
    return {"natural": [list(range(ranks))], "nodes in turn": [turns], "random": shuffled}


@cache
def chunk_for(cluster: str, nbytes: int) -> int:
    """The chunk that is cheapest for PC in natural order, of 1024 at most: for all chains."""
    import weft

    name, ranks = CLUSTERS[cluster]
    how = {"topology": weft.topology.load(name), "ranks": ranks, "nbytes": nbytes}
    few = [chunk for chunk in CHUNKS if nbytes <= 1024 * chunk]
    return min(few, key=lambda chunk: weft.price("pc", chunk=chunk, **how).seconds)


def case(cluster: str, chain: str, kind: str, sample: int, order: list[int], nbytes: int) -> Row:
    """One row of the data."""
    import weft

    name, ranks = CLUSTERS[cluster]
    place = weft.topology.placed(weft.topology.load(name), order, ranks=ranks)
    how = {"ranks": ranks, "nbytes": nbytes, "chunk": chunk_for(cluster, nbytes)}
    return {
        "cluster": cluster, "chain": chain, "placement": kind, "sample": sample,
        "ranks": ranks, "bytes": nbytes, "chunk": how["chunk"],
        "priced": weft.price(CHAINS[chain], place, **how).seconds,
        "simulated": weft.simulate(CHAINS[chain], place, model="plain", **how).seconds,
    }  # fmt: skip


def data() -> list[Row]:
    """All rows, made again."""
    wanted = []
    for cluster, (_, ranks) in CLUSTERS.items():
        nodes = 1 if ranks == 8 else 8
        for kind, places in orders(ranks, nodes).items():
            for sample, order in enumerate(places):
                for chain in CHAINS if kind == "natural" else ("PC", "TA-PC"):
                    sizes = SIZES if kind == "natural" or sample < 3 else [MAIN]
                    wanted += [(cluster, chain, kind, sample, order, b) for b in sizes]
    return [case(*one) for one in steps("chains", wanted)]


# --- page ---------------------------------------------------------------------------------------


def milliseconds(rows: list[Row], kind: str) -> str:
    """A time, or the median and the extremes of several."""
    times = sorted(row[kind] * 1e3 for row in rows)
    middle = f"{median(times):.2f}"
    return middle if len(times) == 1 else f"{middle} ({times[0]:.1f} to {times[-1]:.1f})"


def at_main_size(rows: list[Row]) -> str:
    """All chains in all orders, 64 MiB."""
    lines = []
    for cluster in CLUSTERS:
        natural = of(rows, cluster=cluster, chain="PC", placement="natural", bytes=MAIN)[0]
        for kind in ("natural", "nodes in turn", "random"):
            for chain in CHAINS:
                own = of(rows, cluster=cluster, chain=chain, placement=kind, bytes=MAIN)
                if not own or (kind == "nodes in turn" and own[0]["ranks"] == 8):
                    continue
                ratio = median(row["simulated"] for row in own) / natural["simulated"]
                lines.append(
                    [cluster, kind, chain, milliseconds(own, "priced"),
                     milliseconds(own, "simulated"), f"{ratio:.2f}"]
                )  # fmt: skip
    header = ["cluster", "order of ranks", "chain", "priced, ms", "simulated, ms", "to PC, natural"]
    return table(header, lines)


def saved(rows: list[Row], cluster: str, kind: str, chain: str = "TA-PC") -> str:
    """What a chain saves of PC's time, in the same order of ranks: median, simulated."""
    pc, other = (
        [row["simulated"] for row in of(rows, cluster=cluster, placement=kind, chain=c, bytes=MAIN)]
        for c in ("PC", chain)
    )
    share = median(1 - b / a for a, b in zip(pc, other, strict=True))
    return "0" if abs(share) < 0.005 else f"{100 * share:.0f}%"


def beside_the_document(rows: list[Row]) -> str:
    """What TA-PC saves, by our orders, beside the document's figures."""
    lines = []
    for cluster in CLUSTERS:
        turn = "" if CLUSTERS[cluster][1] == 8 else saved(rows, cluster, "nodes in turn")
        lines.append(
            [cluster, DOCUMENT.get(cluster, "-"), saved(rows, cluster, "natural", "reversed"),
             saved(rows, cluster, "natural"), turn or "-", saved(rows, cluster, "random")]
        )  # fmt: skip
    header = ["cluster", "document, TA-PC", "reversed, natural", "TA-PC, natural",
              "TA-PC, nodes in turn", "TA-PC, random"]  # fmt: skip
    return table(header, lines)


# The first is wide: others lie on it.
LINES = [
    ("PC", "natural", {"color": "#b9d3ea", "linewidth": 7}),
    ("TA-PC", "natural", {"color": "#1f6fb4", "linestyle": "-"}),
    ("TA-PC", "random", {"color": "#222222", "linestyle": ":"}),
    ("reversed", "natural", {"color": "#9367b8", "linestyle": "--"}),
    ("PC", "random", {"color": "#d1702b", "linestyle": "-"}),
]


def plot(rows: list[Row]) -> None:
    """Bandwidth against size: bytes of the message over simulated time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    for axes, cluster in zip(figure.subplots(1, 3), CLUSTERS, strict=True):
        for chain, kind, style in LINES:
            times = [
                median(
                    r["simulated"]
                    for r in of(rows, cluster=cluster, chain=chain, placement=kind, bytes=b)
                )
                for b in SIZES
            ]
            rates = [b / time / 1e9 for b, time in zip(SIZES, times, strict=True)]
            axes.plot(SIZES, rates, marker="o", ms=4, label=f"{chain}, {kind}", **style)
        axes.set(xscale="log", xlabel="MiB", title=cluster, ylim=(0, None))
        axes.set_xticks(SIZES, [f"{nbytes >> 20}" for nbytes in SIZES])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("GB/s of the message, simulated")
    figure.axes[-1].legend()
    figure.savefig(RESULTS / "broadcast_chains.png", dpi=100)


def chunks(rows: list[Row]) -> str:
    """The chunks that were taken."""
    header = ["chunk", *(size(nbytes) + "B" for nbytes in SIZES)]
    lines = []
    for cluster in CLUSTERS:
        own = [of(rows, cluster=cluster, bytes=nbytes)[0] for nbytes in SIZES]
        lines.append([cluster, *(size(row["chunk"]) + "B" for row in own)])
    return table(header, lines)


def main() -> None:
    """Writes tables and plot."""
    if asked_for_data(__doc__):
        write("broadcast_chains", data())
    rows = read("broadcast_chains")
    parts = {"chains": at_main_size(rows), "document": beside_the_document(rows)}
    fill("broadcast", {**parts, "chunks": chunks(rows)})
    plot(rows)


if __name__ == "__main__":
    main()
