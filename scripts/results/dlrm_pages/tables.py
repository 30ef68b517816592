"""The tables of dlrm.md."""

from __future__ import annotations

from dlrm_pages import figures
from dlrm_pages.cases import ALONE, BARE, BLOCKING, EMPTY, GLOO, NAMES, SIZES, WEFT, Row
from dlrm_pages.cells import DTYPES, NOTHING, cell
from dlrm_pages.checks import auc, collectives, equal, memory
from dlrm_pages.goals import goals

from page import digits, table


def all_of(rows: list[Row]) -> dict[str, str]:
    """By the name of its place on the page."""
    found = {
        "machine": machine(rows), "sizes": sizes(rows), "goals": goals(rows),
        "equal": equal(rows), "auc": auc(rows), "exchanges": exchanges(rows),
        "narrow": narrow(rows), "memory": memory(rows), "collectives": collectives(rows),
    }  # fmt: skip
    for config in SIZES:
        found[f"{config} node"] = steps(rows, config, hosts=False)
        found[f"{config} hosts"] = steps(rows, config, hosts=True)
    return found


def machine(rows: list[Row]) -> str:
    """The processors that the rows name, and how many rows there are."""
    processors = sorted({row["processor"] for row in rows})
    return f"{'; '.join(processors)}. {len(rows)} turns." if rows else "Not measured yet."


def sizes(rows: list[Row]) -> str:
    """By what each configuration is smaller here, and its bytes of a step."""
    lines = []
    for config in SIZES:
        found = figures.of_turn(rows, part="steps", config=config, dtype="float32")
        if not found:
            lines.append([config, *[NOTHING] * 5])
            continue
        row = found[0]
        lines.append([
            config, f"{row['rows']:,}", f"{row['rows_factor']}", f"{row['minibatch']}",
            f"{row['minibatch_factor']:g}",
            f"{row['gradient_bytes'] / 2**20:.1f}, {row['exchanged'] / 2**20:.2f}",
        ])  # fmt: skip
    return table(
        ["", "rows", "rows divided by", "minibatch", "minibatch divided by",
         "MiB of gradients, of an exchange"], lines,
    )  # fmt: skip


def steps(rows: list[Row], config: str, hosts: bool) -> str:
    """A line for each variant by alltoall."""
    lines = []
    for turn in _by_place(figures.turns(rows, config=config, exchange="alltoall")):
        if turn["how"] in (ALONE, EMPTY) or bool(turn["rate"]) is not hosts:
            continue
        lines.append([
            _where(turn), DTYPES[turn["dtype"]], turn["steps"], NAMES[turn["how"]],
            *_measured(rows, turn), *(_wire(rows, turn) if hosts else []),
        ])  # fmt: skip
    head = ["nodes x ranks", "", "steps", "", "steps/s", "over Gloo", "compute, ms",
            "allreduce, ms", "alltoall, ms", "Gloo's communication"]  # fmt: skip
    head += ["wire, MB", "bound, ms", "of the bound", "of plain TCP"] if hosts else []
    return table(head, lines or [[NOTHING, *[""] * (len(head) - 1)]])


def _by_place(found: list[Row]) -> list[Row]:
    """Rows of one comparison stand together."""
    keys = ("rate", "place", "dtype", "steps")
    order: dict[tuple[str, ...], list[Row]] = {}
    for turn in found:
        order.setdefault(tuple(turn[key] for key in keys), []).append(turn)
    return [turn for group in order.values() for turn in group]


def _where(turn: Row) -> str:
    return turn["place"] + (f", {turn['rate']}" if turn["rate"] else "")


def _measured(rows: list[Row], turn: Row) -> list[str]:
    """Rate, ratio, the three parts, the share."""
    step, found = figures.step_ms(rows, turn), figures.parts(rows, turn)
    over, share = figures.over_gloo(rows, turn), figures.share(rows, turn)
    return [
        digits(1e3 / step) if step else NOTHING,
        "" if turn["how"] == GLOO else cell(over, "**{:.2f}**"),
        *(digits(found[part]) if found else NOTHING for part in figures.PARTS),
        cell(100 * share if share is not None else None, "{:.0f} %"),
    ]


def _wire(rows: list[Row], turn: Row) -> list[str]:
    moved, bound = figures.wire_bytes(rows, turn), figures.bound_ms(rows, turn)
    return [
        cell(moved / 1e6 if moved is not None else None),
        digits(bound) if bound else NOTHING,
        cell(figures.of_bound(rows, turn), "**{:.2f}**"),
        "" if turn["how"] == BARE else cell(figures.of_bare(rows, turn), "**{:.2f}**"),
    ]


def exchanges(rows: list[Row]) -> str:
    """The three ways to exchange, where more than one was measured."""
    lines = []
    for turn in figures.turns(rows, exchange="scatter"):
        each = [turn | {"exchange": name} for name in ("alltoall", "scatter", "scatter_list")]
        times = [figures.step_ms(rows, one) for one in each]
        waits = [figures.parts(rows, one) for one in each]
        lines.append([
            _where(turn), turn["steps"], NAMES[turn["how"]],
            *(digits(1e3 / time) if time else NOTHING for time in times),
            *(digits(one["alltoall"]) if one else NOTHING for one in waits),
        ])  # fmt: skip
    head = ["nodes x ranks", "steps", "", "alltoall, steps/s", "scatter, steps/s",
            "scatter_list, steps/s"]  # fmt: skip
    head += [f"{name}, exposed ms" for name in ("alltoall", "scatter", "scatter_list")]
    return table(head, lines or [[NOTHING, *[""] * (len(head) - 1)]])


def narrow(rows: list[Row]) -> str:
    """What bf16 leaves of blocking communication."""
    lines = []
    for turn in figures.turns(rows, dtype="bfloat16", steps=BLOCKING, exchange="alltoall"):
        if turn["how"] in (ALONE, EMPTY):
            continue
        empty = _both_types(rows, turn | {"how": EMPTY}) if turn["how"] == WEFT else ["", ""]
        lines.append([
            turn["config"], _where(turn), NAMES[turn["how"]], *_both_types(rows, turn),
            cell(figures.narrower(rows, turn), "**{:.2f}**"), *empty,
        ])  # fmt: skip
    head = ["", "nodes x ranks", "", "float32, ms", "bf16, ms", "ratio", "float32, empty",
            "bf16, empty"]  # fmt: skip
    return table(head, lines or [[NOTHING, *[""] * 7]])


def _both_types(rows: list[Row], turn: Row) -> list[str]:
    """Communication of the blocking step, in float32 and in bf16."""
    names = ("float32", "bfloat16")
    both = [figures.communication(rows, turn | {"dtype": name}) for name in names]
    return [digits(one) if one is not None else NOTHING for one in both]
