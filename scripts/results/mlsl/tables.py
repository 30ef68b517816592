"""The tables of openshmem_mlsl.md."""

from __future__ import annotations

from statistics import median

from mlsl.cases import (
    DOCUMENT_ACCURACY,
    DOCUMENT_SECONDS,
    MESSAGES,
    NATIVE,
    PLACES,
    TRAININGS,
    Row,
    place_name,
)
from mlsl.figures import (
    MPI_NAMES,
    POINTS,
    accuracy,
    equal_bits,
    exchange,
    farthest,
    faster,
    fastest_mpi,
    hashes,
    microseconds,
    of_turn,
    points,
    ratio,
    simulated,
    trainings,
)

from page import digits, table

NOTHING = "not measured"
NAMES = {
    "weft_shm": "Weft, shm", "weft_shmem": "Weft, OpenSHMEM",
    "native_shmem": "OpenSHMEM's own, through Weft",
    **{f"weft_mpi_{mpi}": f"Weft, {name}" for mpi, name in MPI_NAMES.items()},
    **{f"native_mpi_{mpi}": f"{name}'s own, through Weft" for mpi, name in MPI_NAMES.items()},
    **MPI_NAMES, "weft_torch": "Weft, shm, through PyTorch", "gloo": "Gloo, through PyTorch",
}  # fmt: skip
# By the document's (nodes, each): our place, and the fabric that is OpenSHMEM there.
WHOLE = {(1, 2): ("1 x 2", "shmem"), (2, 1): ("2 x 1", "shmem"), (2, 2): ("2 x 2", "shm+shmem")}


def cell(value: float | None, text: str = "{:.2f}") -> str:
    """A number, or that there is none."""
    return NOTHING if value is None else text.format(value)


def message_sizes() -> str:
    """The eight messages."""
    lines = [[layer, *(f"{4 * count}" for count in counts)] for layer, counts in MESSAGES.items()]
    return table(["layer", "weight, bytes", "bias, bytes"], lines)


def messages(rows: list[Row], ranks: int) -> str:
    """All libraries: both ways, and over Open MPI's faster way."""
    base = faster(rows, "openmpi", ranks)
    lines = []
    for library, name in NAMES.items():
        best = faster(rows, library, ranks)
        ways = [_rounds(microseconds(rows, library, ranks, together)) for together in (False, True)]
        lines.append([name, *ways, _over(best, base)])
    return table(
        ["library", "one after the other, µs", "started together, µs", "over Open MPI's faster"],
        lines,
    )


def _rounds(medians: list[float]) -> str:
    if not medians:
        return NOTHING
    return f"{digits(median(medians))} ({digits(min(medians))} to {digits(max(medians))})"


def goals(rows: list[Row]) -> str:
    """OpenSHMEM with Weft's algorithms: the messages, whole trainings, accuracy, bits."""
    mine, best = faster(rows, "weft_shmem", 2), fastest_mpi(rows, 2)
    named = f" ({MPI_NAMES[best[0]]})" if best else ""
    lines = [
        ["eight messages, over the faster of Open MPI's two",
         _over(mine, faster(rows, "openmpi", 2)), "at most 0.70"],
        [f"eight messages, over the fastest MPI's{named}",
         _over(mine, best[1] if best else None), ""],
    ]  # fmt: skip
    for (nodes, each), (place, fabric) in WHOLE.items():
        found = ratio(trainings(rows, place, fabric, ""), trainings(rows, place, "mpi", NATIVE))
        mpi, shmem = DOCUMENT_SECONDS[nodes, each]
        what = f"whole training, {place_name(nodes, each)}, over MPI's own allreduce"
        lines.append([what, cell(found, "**{:.3f}**"), f"{shmem / mpi:.3f} in the document"])
    away = cell(farthest(rows), "**{:+.2f}** points")
    bits = {None: NOTHING, True: "**equal**", False: "**different**"}[equal_bits(rows)]
    lines += [
        ["accuracy, all fabrics and places: farthest from one process", away,
         f"at most {POINTS} points"],
        ["parameters of reproducible trainings, all fabrics", bits, "equal bits"],
    ]  # fmt: skip
    return table(["OpenSHMEM with Weft's algorithms", "result", "goal, or the document"], lines)


def _over(mine: float | None, base: float | None) -> str:
    return cell(mine / base if mine and base else None, "**{:.2f}**")


def training(rows: list[Row]) -> str:
    """Each variant: time, share of communication, accuracy."""
    alone = trainings(rows, "1 x 1", "", "")
    lines = []
    for place, fabric, algorithm in TRAININGS:
        own = trainings(rows, place, fabric, algorithm)
        crowded = len(PLACES[place]) > 2
        seconds = digits(median(row["seconds"] for row in own.values())) if own else NOTHING
        share = 100 * median(row["share"] for row in own.values()) if own and fabric else None
        lines.append([
            place, _named(fabric, algorithm), "" if crowded else seconds, cell(ratio(own, alone)),
            cell(share, "{:.1f} %") if fabric else "", cell(accuracy(own), "{:.2f} %"),
            _parity(points(own, alone)), str(len(own)),
        ])  # fmt: skip
    return table(
        ["nodes x ranks", "fabric", "s", "over one process", "communication", "accuracy",
         "points from one process", "seeds"], lines,
    )  # fmt: skip


def _named(fabric: str, algorithm: str) -> str:
    if not fabric:
        return "one process"
    how = {"": "", NATIVE: ", its own allreduce"}.get(algorithm, f", {algorithm}")
    return fabric + how


def _parity(away: float | None) -> str:
    if away is None:
        return NOTHING
    return f"{away:+.2f}" if abs(away) <= POINTS else f"**{away:+.2f}**"


def equal(rows: list[Row]) -> str:
    """Hashes of parameters after reproducible trainings."""
    lines = []
    for ranks in (2, 4):
        found = hashes(rows, ranks)
        alike = "all equal" if len(set(found.values())) == 1 else "**different**"
        for (place, fabric), value in found.items():
            lines.append([str(ranks), place, fabric, f"`{value[:16]}`", alike])
    return table(["ranks", "nodes x ranks", "fabric", "parameters' SHA-256", ""], lines)


def control(rows: list[Row]) -> str:
    """The hashes of the ordinary trainings on four ranks, of the first seed."""
    found: dict[str, list[str]] = {}
    for row in of_turn(rows, part="training", seed=0):
        if row["ranks"] == 4:
            turn = row["turn"]
            name = f"{turn['place']}, {_named(turn['fabric'], turn['algorithm'])}"
            found.setdefault(row["hash"], []).append(name)
    lines = [[f"`{value[:16]}`", "; ".join(names)] for value, names in found.items()]
    return table(["parameters' SHA-256", "ordinary trainings on four ranks, first seed"], lines)


def long(rows: list[Row]) -> str:
    """The trainings of 10,000 iterations."""
    lines = []
    for row in of_turn(rows, part="long"):
        turn, (_, loss, right) = row["turn"], row["curve"][-1]
        lines.append([turn["place"], _named(turn["fabric"], ""), str(row["iterations"]),
                      digits(row["seconds"]), f"{loss:.5f}", f"{100 * right:.2f} %"])  # fmt: skip
    return table(["nodes x ranks", "fabric", "iterations", "s", "last loss", "accuracy"], lines)


def document() -> str:
    """Tables I and II of the document, and what follows from them."""
    alone = DOCUMENT_SECONDS[1, 1]
    lines = []
    for place, both in DOCUMENT_SECONDS.items():
        over = [f"{one / base:.2f}" for one, base in zip(both, alone, strict=True)]
        rights = [f"{100 * one:.2f} %" for one in DOCUMENT_ACCURACY.get(place, ())]
        lines.append([place_name(*place), *(f"{one:.2f}" for one in both), *over,
                      f"{both[1] / both[0]:.3f}", *(rights or ["", ""])])  # fmt: skip
    return table(
        ["nodes x ranks", "MPI, s", "SHMEM, s", "MPI over one process", "SHMEM over one process",
         "SHMEM / MPI", "accuracy, MPI", "accuracy, SHMEM"], lines,
    )  # fmt: skip


def inputs(rows: list[Row]) -> str:
    """What the simulation starts from, for both libraries."""
    lines = []
    for library in ("MPI", "OpenSHMEM"):
        row = simulated(rows, 1, 2, library)
        if row:
            lines.append([library, f"{1e6 * row['inputs']['overhead']:.2f} µs",
                          f"{row['inputs']['bandwidth'] / 1e9:.1f} GB/s",
                          f"{row['inputs']['reduce'] / 1e9:.0f} GB/s"])  # fmt: skip
    return table(["library", "a message", "bytes", "reduction"], lines)


def simulation(rows: list[Row]) -> str:
    """An iteration by place, and what the document measured."""
    lines = []
    for (nodes, each), (mpi, shmem) in DOCUMENT_SECONDS.items():
        both = [simulated(rows, nodes, each, library) for library in ("MPI", "OpenSHMEM")]
        if None in both:
            cells = [NOTHING] * 5
        else:
            exchanges = [exchange(row) for row in both]
            over = exchanges[1] / exchanges[0] if exchanges[0] else None
            cells = [f"{1e3 * both[0]['inputs']['compute']:.2f}",
                     *(f"{1e3 * one:.3f}" for one in exchanges),
                     "" if over is None else f"{over:.2f}",
                     f"{both[1]['seconds'] / both[0]['seconds']:.3f}"]  # fmt: skip
        lines.append([place_name(nodes, each), *cells, f"{shmem / mpi:.3f}"])
    return table(
        ["nodes x ranks", "computation, ms", "messages, MPI, ms", "messages, OpenSHMEM, ms",
         "of messages", "of the iteration", "of the document's training"], lines,
    )  # fmt: skip


def group_equality(rows: list[Row]) -> str:
    """How far a split LeNet is from a whole one."""
    lines = []
    for row in of_turn(rows, part="model_group", round=0):
        lines.append([f"{row['data']} x {row['model']}", row["turn"]["fabric"],
                      f"{row['difference_float64']:.1e}", f"{row['difference_float32']:.1e}",
                      f"{100 * row['accuracy']:.2f} %"])  # fmt: skip
    return table(["data x model", "fabric", "float64", "float32", "accuracy"], lines)


def group_exchanges(rows: list[Row]) -> str:
    """The median time of each exchange."""
    found: dict[tuple[str, str, str, int], list[float]] = {}
    for row in of_turn(rows, part="model_group"):
        for name, one in row["exchanges"].items():
            key = (f"{row['data']} x {row['model']}", row["turn"]["fabric"], name, one["bytes"])
            found.setdefault(key, []).append(one["microseconds"])
    lines = [[shape, fabric, name, str(nbytes), digits(median(times))]
             for (shape, fabric, name, nbytes), times in found.items()]  # fmt: skip
    return table(["data x model", "fabric", "exchange", "bytes", "µs"], lines)


def machine(rows: list[Row]) -> str:
    """The processors that the rows name, and how many rows there are."""
    processors = sorted({row["processor"] for row in rows})
    if not processors:
        return NOTHING.capitalize() + " yet."
    return f"{'; '.join(processors)}. {len(rows)} turns."
