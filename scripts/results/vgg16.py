"""Writes docs/results/vgg16.md's tables and plots: VGG-16's parameters exchanged by broadcasts.

From vgg16.jsonl; --data first prices and simulates all of it again (some minutes).
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from statistics import median
from typing import Any

from page import RESULTS, asked_for_data, fill, of, read, size, steps, table, write

TOPOLOGY, RANKS = "rx1", (4, 8, 16, 32)
# tf_cnn_benchmarks on Google Compute Engine, May 2017: VGG-16 on one GPU of a K80.
BATCH, IMAGES_A_SECOND = 32, 35.4
COMPUTE = BATCH / IMAGES_A_SECOND  # seconds an iteration
PLANS: dict[str, tuple[str, dict[str, int]]] = {
    "flat k-nomial": ("broadcast/knomial", {}),
    "two-level": ("broadcast/two_level", {"overlap": 0}),
    "two-level, overlapped": ("broadcast/two_level", {"overlap": 1}),
    "PC": ("broadcast/chain", {}),
}
EITHER = "PC or k-nomial"  # for each message the faster of the two, as a selection table does
CHUNKS = [1 << power for power in range(14, 21)]
CLASSES = {"up to 8 KiB": 8 << 10, "up to 128 KiB": 128 << 10, "up to 1 MiB": 1 << 20,
           "up to 8 MiB": 8 << 20, "larger": 1 << 40}  # fmt: skip
Row = dict[str, Any]


def tensors() -> list[int]:
    """The elements of VGG-16's weights and biases, in the order of the layers."""
    channels = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    layers = [(9 * a, b) for a, b in pairwise(channels)]
    layers += [(512 * 7 * 7, 4096), (4096, 4096), (4096, 1000)]
    return [n for inputs, outputs in layers for n in (inputs * outputs, outputs)]


def messages(ranks: int) -> Counter[tuple[int, int]]:
    """How many broadcasts of an iteration have this (root, bytes): each rank's share of each."""
    found: Counter[tuple[int, int]] = Counter()
    for elements in tensors():
        share, more = divmod(elements, ranks)
        for root in range(ranks):
            found[root, 4 * (share + (root < more))] += 1
    return found


# --- data ---------------------------------------------------------------------------------------


@cache
def seconds(plan: str, ranks: int, root: int, nbytes: int, chunk: int) -> float:
    """The price of one broadcast."""
    import weft

    name, params = PLANS[plan]
    return weft.price(
        name, place(), ranks=ranks, nbytes=nbytes, chunk=chunk, params={**params, "root": root}
    ).seconds


@cache
def place() -> Any:
    """The cluster."""
    import weft

    return weft.topology.load(TOPOLOGY)


@cache
def chunk_for(plan: str, ranks: int, nbytes: int) -> int:
    """The cheapest chunk from rank 0; a k-nomial tree of the document sends messages whole."""
    if plan == "flat k-nomial":
        return nbytes
    sizes = [chunk for chunk in CHUNKS if chunk < nbytes] + [nbytes]
    return min(sizes, key=lambda chunk: seconds(plan, ranks, 0, nbytes, chunk))


def case(plan: str, ranks: int, nbytes: int, counts: dict[int, int]) -> Row:
    """One row: broadcasts of this size from each root. Simulated from the first and the last."""
    import weft

    chunk = chunk_for(plan, ranks, nbytes)
    name, params = PLANS[plan]
    row = {
        "plan": plan, "ranks": ranks, "bytes": nbytes, "chunk": chunk,
        "roots": {
            root: [count, seconds(plan, ranks, root, nbytes, chunk)]
            for root, count in counts.items()
        },
        "simulated": {},
    }  # fmt: skip
    for root in {min(counts), max(counts)}:
        row["simulated"][root] = weft.simulate(
            name, place(), ranks=ranks, nbytes=nbytes, chunk=chunk, model="plain",
            params={**params, "root": root},
        ).seconds  # fmt: skip
    return row


def data() -> list[Row]:
    """All rows, made again."""
    wanted = []
    for ranks in RANKS:
        sizes: dict[int, dict[int, int]] = {}
        for (root, nbytes), count in messages(ranks).items():
            sizes.setdefault(nbytes, {})[root] = count
        wanted += [
            (plan, ranks, nbytes, sizes[nbytes]) for nbytes in sorted(sizes) for plan in PLANS
        ]
    return [case(*one) for one in steps("VGG-16", wanted)]


# --- page ---------------------------------------------------------------------------------------


def exchange(rows: list[Row], ranks: int) -> dict[str, float]:
    """Seconds of all broadcasts of an iteration, one after the other, by plan."""
    times: dict[str, dict[tuple[str, int], float]] = {plan: {} for plan in PLANS}
    for row in of(rows, ranks=ranks):
        for root, (count, priced) in row["roots"].items():
            times[row["plan"]][root, row["bytes"]] = count * priced
    sums = {plan: sum(own.values()) for plan, own in times.items()}
    either = [times["PC"], times["flat k-nomial"]]
    sums[EITHER] = sum(min(own[message] for own in either) for message in times["PC"])
    return sums


def saving(sums: dict[str, float], compute: float, than: str = "two-level") -> float:
    """The share of an iteration that PC or k-nomial saves."""
    return (sums[than] - sums[EITHER]) / (compute + sums[than])


def times(rows: list[Row]) -> str:
    """An iteration's exchange, by plan and number of GPUs."""
    lines = []
    for ranks in RANKS:
        sums = exchange(rows, ranks)
        count = sum(messages(ranks).values())
        lines.append([str(ranks), str(count), *(f"{1e3 * sums[plan]:.0f}" for plan in sums)])
    return table(["GPUs", "broadcasts", *(f"{plan}, ms" for plan in [*PLANS, EITHER])], lines)


def training(rows: list[Row]) -> str:
    """The whole iteration."""
    lines = []
    for ranks in RANKS:
        sums = exchange(rows, ranks)
        whole = [f"{COMPUTE + sums[p]:.3f}" for p in ("flat k-nomial", "two-level", "PC", EITHER)]
        shares = [f"{100 * saving(sums, COMPUTE, t):.1f}%" for t in ("two-level", "flat k-nomial")]
        lines.append([str(ranks), *whole, *shares, "7%" if ranks == 32 else ""])
    header = ["GPUs", "flat k-nomial, s", "two-level", "PC", EITHER,
              "saved of two-level", "of flat", "document"]  # fmt: skip
    return table(header, lines)


def sensitivity(rows: list[Row]) -> str:
    """What is saved at 32 GPUs if an iteration computes longer or shorter; and where 7% is."""
    sums = exchange(rows, 32)
    seven = (sums["two-level"] - sums[EITHER]) / 0.07 - sums["two-level"]
    lines = []
    for compute in sorted((0.1, 0.3, COMPUTE, 2.0, 4.0, seven)):
        shares = [f"{100 * saving(sums, compute, t):.1f}%" for t in ("two-level", "flat k-nomial")]
        lines.append([f"{compute:.2f}", *shares])
    return table(["computes, s", "saved of two-level", "of flat k-nomial"], lines)


def agreement(rows: list[Row]) -> str:
    """Simulated over priced, each size from its first and last root."""
    lines = []
    for plan in PLANS:
        cells = []
        for ranks in RANKS:
            own = of(rows, plan=plan, ranks=ranks)
            ratios = [
                time / row["roots"][root][1]
                for row in own
                for root, time in row["simulated"].items()
            ]
            cells.append(f"{median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})")
        lines.append([plan, *cells])
    return table(["simulated / priced", *(f"{ranks} GPUs" for ranks in RANKS)], lines)


def mix(ranks: int) -> dict[str, tuple[float, float]]:
    """For each class of sizes its share of the messages and of the bytes."""
    counts, volumes = Counter[str](), Counter[str]()
    for (_, nbytes), count in messages(ranks).items():
        name = next(name for name, most in CLASSES.items() if nbytes <= most)
        counts[name] += count
        volumes[name] += count * nbytes
    return {n: (counts[n] / counts.total(), volumes[n] / volumes.total()) for n in CLASSES}


COLOURS = ["#c9dcec", "#8fb8da", "#4f8fc4", "#1f6fb4", "#123f66"]


def plot_mix() -> None:
    """Stacked bars: messages and bytes by size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    for which, axes in enumerate(figure.subplots(1, 2, sharey=True)):
        below = [0.0] * len(RANKS)
        for name, colour in zip(CLASSES, COLOURS, strict=True):
            shares = [100 * mix(ranks)[name][which] for ranks in RANKS]
            axes.bar([str(n) for n in RANKS], shares, bottom=below, color=colour, label=name)
            below = [a + b for a, b in zip(below, shares, strict=True)]
        axes.set(title=("messages", "bytes")[which], xlabel="GPUs")
    figure.axes[0].set_ylabel("share, %")
    figure.axes[1].legend(title="bytes of a message", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(RESULTS / "vgg16_mix.png", dpi=100)


def plot_training(rows: list[Row]) -> None:
    """The exchange by plan, and what is saved against the time of computation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    colours = ["#c03d3e", "#d1702b", "#c9a227", "#3a923a", "#1f6fb4"]
    for place_of_bar, (plan, colour) in enumerate(zip([*PLANS, EITHER], colours, strict=True)):
        left.bar(
            [i + 0.16 * (place_of_bar - 2) for i in range(len(RANKS))],
            [1e3 * exchange(rows, ranks)[plan] for ranks in RANKS],
            0.15, color=colour, label=plan,
        )  # fmt: skip
    left.set_xticks(range(len(RANKS)), [str(ranks) for ranks in RANKS])
    left.set(xlabel="GPUs", ylabel="ms", title="exchange of an iteration, priced")
    left.legend()
    computes = [0.05 * 1.1**i for i in range(50)]
    for than, colour in (("flat k-nomial", "#c03d3e"), ("two-level", "#d1702b")):
        for ranks, dash in ((32, "-"), (16, ":")):
            shares = [100 * saving(exchange(rows, ranks), c, than) for c in computes]
            right.plot(computes, shares, dash, color=colour, label=f"of {than}, {ranks} GPUs")
    right.axhline(7, color="#444444", linestyle="--", label="document: 7% at 32 GPUs")
    right.axvline(COMPUTE, color="#bbbbbb", label="a K80's GPU, 32 images")
    right.set(xscale="log", xlabel="seconds of computation an iteration", ylabel="%")
    right.set(title=f"saved of an iteration by {EITHER}", ylim=(0, None))
    right.legend()
    figure.savefig(RESULTS / "vgg16_training.png", dpi=100)


def sizes_of_messages() -> str:
    """The mix as a table."""
    lines = []
    for ranks in RANKS:
        found = messages(ranks)
        sizes = [nbytes for _, nbytes in found]
        shares = [f"{100 * a:.0f}% / {100 * b:.1f}%" for a, b in mix(ranks).values()]
        lines.append([str(ranks), size(min(sizes)), f"{max(sizes) / 1e6:.1f} MB", *shares])
    return table(["GPUs", "smallest", "largest", *CLASSES], lines)


def main() -> None:
    """Writes tables and plots."""
    if asked_for_data(__doc__):
        write("vgg16", data())
    rows = read("vgg16")
    parts = {"mix": sizes_of_messages(), "times": times(rows), "training": training(rows)}
    fill("vgg16", {**parts, "sensitivity": sensitivity(rows), "agreement": agreement(rows)})
    plot_mix()
    plot_training(rows)


if __name__ == "__main__":
    main()
