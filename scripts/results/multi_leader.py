"""Writes docs/results/multi_leader.md's tables and plot: allreduces by leaders, simulated.

From multi_leader.jsonl; --data first simulates all of it again (a minute).
"""

from __future__ import annotations

from typing import Any

from page import RESULTS, asked_for_data, fill, of, read, size, steps, table, write

MI = 1 << 20
SIZES = [b * MI for b in (4, 8, 16, 32, 64, 128)]
RANKS = (32, 64, 128, 256)
DOCUMENTS = ("lr", "lr_lr", "lr_rab")
# Any plan by its name; the last rows of the page. The first is what `weft search` finds.
OTHERS = (
    "multi_leader(leaders=2,inner=direct,outer=rabenseifner,pieces=8)",
    "multi_leader(inner=direct,outer=rabenseifner)",
    "multi_leader(inner=direct,outer=rabenseifner,pieces=2)",
    "multi_leader(inner=direct,outer=rabenseifner,pieces=4)",
    "multi_leader(inner=direct,outer=rabenseifner,pieces=8)",
    "multi_leader(inner=direct,outer=ring,pieces=4)",
)
# Time of lr_lr and lr_rab over lr's. The abstract states the first pair; the others are from the
# authors' public results.
STATED = {(256, 32): (0.551, 0.484)}
PUBLIC = {
    (256, 4): (0.451, 0.360), (256, 16): (0.478, 0.376), (256, 64): (0.568, 0.531),
    (256, 128): (0.578, 0.558), (32, 32): (0.539, 0.536), (64, 32): (0.557, 0.546),
    (128, 32): (0.555, 0.529),
}  # fmt: skip
STATED_ENERGY = {(256, 32): (0.770, 0.679)}
# Platforms of the same authors, without figures in the document.
PLATFORMS = ("tsubame3", "nvcluster", "dragonfly")
Row = dict[str, Any]


# --- data ---------------------------------------------------------------------------------------


def case(plan: str, ranks: int, nbytes: int, topology: str = "tsubame3") -> Row:
    """One row of the data: a plan whose messages are whole blocks, as MPI sends them."""
    import weft

    found = weft.simulate(plan, topology, ranks=ranks, nbytes=nbytes, chunk=nbytes, energy=True)
    return {
        "topology": topology, "plan": plan, "ranks": ranks, "bytes": nbytes,
        "seconds": found.seconds, "joules": found.joules, "messages": found.messages,
    }  # fmt: skip


def data() -> list[Row]:
    """All rows, made again."""
    wanted = [(plan, 256, nbytes) for nbytes in SIZES for plan in DOCUMENTS]
    wanted += [(plan, ranks, 32 * MI) for ranks in RANKS[:-1] for plan in DOCUMENTS]
    wanted += [(plan, 256, 32 * MI) for plan in OTHERS]
    others = [(plan, 256, 32 * MI, name) for name in PLATFORMS[1:] for plan in DOCUMENTS]
    return [case(*one) for one in steps("multi-leader", [*wanted, *others])]


# --- page ---------------------------------------------------------------------------------------


def one(rows: list[Row], plan: str, ranks: int, nbytes: int, topology: str = "tsubame3") -> Row:
    """The row of a case."""
    return of(rows, plan=plan, ranks=ranks, bytes=nbytes, topology=topology)[0]


def ratios(rows: list[Row], what: str, ranks: int, nbytes: int) -> list[float]:
    """Of lr_lr and lr_rab to lr."""
    base = one(rows, "lr", ranks, nbytes)[what]
    return [one(rows, plan, ranks, nbytes)[what] / base for plan in DOCUMENTS[1:]]


def pair(values: Any) -> str:
    """Two ratios as the document writes them."""
    return " / ".join(f"{value:.3f}".lstrip("0") for value in values)


def theirs(ranks: int, nbytes: int) -> tuple[str, str]:
    """The document's times, and whether it states them."""
    case = ranks, nbytes // MI
    if case in STATED:
        return f"**{pair(STATED[case])}**", f"**{pair(STATED_ENERGY[case])}**"
    return (f"{pair(PUBLIC[case])} (public results)" if case in PUBLIC else ""), ""


def beside(rows: list[Row]) -> str:
    """Ours beside the document's."""
    cases = [(256, nbytes) for nbytes in SIZES] + [(ranks, 32 * MI) for ranks in RANKS[:-1]]
    lines = []
    for ranks, nbytes in cases:
        time, energy = theirs(ranks, nbytes)
        milliseconds = f"{one(rows, 'lr', ranks, nbytes)['seconds'] * 1e3:.2f}"
        lines.append(
            [str(ranks), size(nbytes), milliseconds, pair(ratios(rows, "seconds", ranks, nbytes)),
             time, pair(ratios(rows, "joules", ranks, nbytes)), energy]
        )  # fmt: skip
    header = ["GPUs", "bytes", "lr, ms", "time, ours", "the document's", "energy, ours",
              "the document's"]  # fmt: skip
    return table(header, lines)


def bound(nbytes: int, nodes: int = 64) -> float:
    """Seconds that a node's two half-duplex rails need at least, at SimGrid's rates for MPI.

    A node sends and receives 2 (n-1)/n of the message each (Patarasuk, Yuan 2009); bandwidths
    count 0.940694 times, and each stream takes 5% of the way back.
    """
    rails = 2 * 12.5e9 * 0.940694 / 1.05
    return 4 * (nodes - 1) / nodes * nbytes / rails


def plans(rows: list[Row]) -> str:
    """All plans at 256 GPUs and 32 MiB, the fastest last."""
    found = sorted(
        of(rows, ranks=256, bytes=32 * MI, topology="tsubame3"), key=lambda row: -row["seconds"]
    )
    base = one(rows, "lr_rab", 256, 32 * MI)["seconds"]
    least = bound(32 * MI)
    return table(
        ["plan", "ms", "of lr_rab", "of the bound", "J"],
        [
            [f"`{row['plan']}`", f"{row['seconds'] * 1e3:.2f}", f"{row['seconds'] / base:.2f}",
             f"{row['seconds'] / least:.2f}", f"{row['joules']:.1f}"]
            for row in found
        ],
    )  # fmt: skip


def platforms(rows: list[Row]) -> str:
    """The document's plans on all its authors' platforms."""
    lines = []
    for name in PLATFORMS:
        found = [one(rows, plan, 256, 32 * MI, name) for plan in DOCUMENTS]
        times, joules = ([row[what] for row in found] for what in ("seconds", "joules"))
        lines.append(
            [f"`{name}`", *(f"{seconds * 1e3:.2f}" for seconds in times),
             pair(value / times[0] for value in times[1:]),
             pair(value / joules[0] for value in joules[1:])]
        )  # fmt: skip
    header = ["topology", *(f"`{plan}`, ms" for plan in DOCUMENTS), "time", "energy"]
    return table(header, lines)


def plot(rows: list[Row]) -> None:
    """Time ratios by bytes and by ranks, ours and the document's."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    axes = [
        ("MiB, 256 GPUs", [(256, b) for b in SIZES]),
        ("GPUs, 32 MiB", [(n, 32 * MI) for n in RANKS]),
    ]
    for axis, (title, cases) in zip(both, axes, strict=True):
        at = [b // MI if "MiB," in title else n for n, b in cases]
        known = {**PUBLIC, **STATED}
        for number, (plan, colour) in enumerate(zip(DOCUMENTS[1:], ("C0", "C1"), strict=True)):
            ours = [ratios(rows, "seconds", *case)[number] for case in cases]
            axis.plot(at, ours, colour, marker="o", ms=4, label=f"{plan}, simulated plan")
            given = [(x, known[n, b // MI][number]) for x, (n, b) in zip(at, cases, strict=True)
                     if (n, b // MI) in known]  # fmt: skip
            axis.plot(*zip(*given, strict=True), colour, ls="", marker="x", ms=8,
                      label=f"{plan}, the document's")  # fmt: skip
        axis.set_xscale("log", base=2)
        axis.set_xticks(at, [str(x) for x in at])
        axis.set_xlabel(title)
        axis.grid(alpha=0.3)
    both[0].set_ylabel("time / lr's")
    both[0].set_ylim(0, 0.7)
    both[0].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(RESULTS / "multi_leader.png", dpi=110)


def main() -> None:
    """The page, from new data if that is asked for."""
    if asked_for_data(__doc__):
        write("multi_leader", data())
    rows = read("multi_leader")
    fill(
        "multi_leader",
        {"beside": beside(rows), "platforms": platforms(rows), "plans": plans(rows)},
    )
    plot(rows)


if __name__ == "__main__":
    main()
