"""The tables of caffe_gpi.md."""

from __future__ import annotations

from hiding import figures
from hiding.cases import (
    ALLREDUCE,
    ALONE,
    BF16,
    COPIES,
    EQUAL_HOWS,
    EVERY_PAIR,
    GLOO,
    GLOO_BF16,
    HOWS,
    HOWS_AT,
    MODELS,
    PHASES,
    SKEWED,
    Row,
)
from page import digits, table

NOTHING = "not measured"
# The page's words for the parts of the data.
PARTS = {
    "steps": "steps", "pairs": "pairs", "layers": "layers", "wire": "the wire alone",
    "beside": "layers beside an exchange",
    "bytes": "both directions", "node": "one node", "worker": "a worker's place",
    "skew": "a late rank", "equal": "equality",
}  # fmt: skip
NAMES = {"alexnet": "AlexNet", "lenet": "LeNet"}


def machine(rows: list[Row]) -> str:
    """The processors that the rows name, and what each has measured."""
    lines = []
    for processor in sorted({row["processor"] for row in rows}):
        own = [row for row in rows if row["processor"] == processor]
        parts = dict.fromkeys(PARTS[row["turn"]["part"]] for row in own)
        lines.append([", ".join(parts), processor, str(len(own))])
    return table(["measured", "on", "turns"], lines)


def _cell(value: float | None, text: str) -> str:
    return NOTHING if value is None else text.format(value)


def _ms(value: float | None) -> str:
    return NOTHING if value is None else digits(value)


def goals(rows: list[Row]) -> str:
    """What was asked, and what came out."""
    lines = []
    for words, found, bound, met in figures.goals(rows):
        mark = {True: "yes", False: "**no**"}.get(met, "")
        lines.append([words, _cell(found, "{:.2f}"), bound, mark])
    return table(["", "result", "goal", "met"], lines)


def steps(rows: list[Row], model: str) -> str:
    """A row for each way, columns for places and rates."""
    places = figures.measured_places(rows, model)
    lines = []
    for how in HOWS:
        cells, form = [how], "{:.0f}" if model == "alexnet" else "{:.2f}"
        for where in places:
            if how not in HOWS_AT[where[2]]:
                cells += ["", ""]
                continue
            ratio = None if how == ALONE else figures.over(rows, where, how, GLOO)
            cells += [
                _cell(figures.step_ms(rows, where, how), form),
                "" if ratio is None else f"{1 / ratio:.2f}",
            ]
        lines.append(cells)
    head = ["ms a step; Gloo's over it"]
    for _, rate, place in places:
        head += [f"{place}, {rate}", ""]
    return table(head, lines) if places else NOTHING


def hidden(rows: list[Row]) -> str:
    """By model and rate, on 2 x 1."""
    lines = []
    ways = [how for how in HOWS if how not in (ALONE, BF16, GLOO_BF16)]
    for model in MODELS:
        for where in figures.measured_places(rows, model):
            if where[2] != "2 x 1":
                continue
            for how in ways:
                share = figures.hidden(rows, where, how)
                if share is not None:
                    lines.append([f"{NAMES[model]}, {where[1]}", how, f"{100 * share:.0f} %"])
    return table(["", "way", "hidden"], lines)


def pairs(rows: list[Row]) -> str:
    """The ratio of two ways in one job: the median of all pairs, the least and the greatest.

    And the `wait` that the first way has chosen.
    """
    lines = []
    places = [where for model in MODELS for where in figures.compared_places(rows, model)]
    for where in places:
        cells = [f"{NAMES[where[0]]}, {where[1]}, {where[2]}"]
        for how, other in EVERY_PAIR:
            each = sorted(a / b for a, b in figures.pair(rows, where, how, other))
            middle = figures.ratio(rows, where, how, other)
            wait = figures.wait(rows, where, how, other)
            said = f"{middle:.3f} ({each[0]:.2f} to {each[-1]:.2f}), {wait}" if middle else ""
            cells.append(said)
        lines.append(cells)
    head = [f"{how} over {other}" for how, other in EVERY_PAIR]
    return table(["", *head], lines)


def ideal(rows: list[Row]) -> str:
    """The parts of the ideal step."""
    lines = []
    for model in MODELS:
        for where in figures.measured_places(rows, model):
            if where[2] == "2 x 1":
                alone = [figures.step_ms(rows, where, ALONE), figures.wire_ms(rows, where),
                         figures.ideal_ms(rows, where)]  # fmt: skip
                beside = figures.ideal_ms(rows, where, "beside")
                steps = [figures.step_ms(rows, where, how) for how in (PHASES, ALLREDUCE)]
                lines.append([
                    f"{NAMES[model]}, {where[1]}", *map(_ms, alone),
                    "" if beside is None else digits(beside), *map(_ms, steps),
                ])  # fmt: skip
    head = ["ms", "computation alone", "exchange alone", "best schedule",
            "the same, computation beside an exchange", "phases", "allreduce"]  # fmt: skip
    return table(head, lines)


def equal(rows: list[Row]) -> str:
    """How far ranks are from one process."""
    lines = []
    for model in MODELS:
        for how in EQUAL_HOWS:
            for one in figures.of_turn(rows, part="equal", model=model, how=how):
                same = f"{one['same_order']:.1e}" if "same_order" in one else ""
                lines.append([NAMES[model], how, f"{one['difference']:.1e}",
                              f"{one['moved']:.1e}", same])  # fmt: skip
    return table(["", "way", "of the parameters", "of what training changed",
                  "of the parameters; sums in the same order"], lines)  # fmt: skip


def node(rows: list[Row]) -> str:
    """Two ranks of a node over one."""
    lines = []
    for how in COPIES:
        cells = [how]
        for model in MODELS:
            alone = figures.node_ms(rows, model, "1 x 2", how)
            cells += [NOTHING if alone is None else digits(alone),
                      _cell(figures.speed_up(rows, model, how), "{:.2f}")]  # fmt: skip
        lines.append(cells)
    return table(["", "AlexNet, ms a step", "one rank's over it", "LeNet, ms a step",
                  "one rank's over it"], lines)  # fmt: skip


def worker(rows: list[Row]) -> str:
    """How much longer the computation takes."""
    lines = []
    for place, named in (("1 x 2", "shared memory"), ("2 x 1", "network")):
        cells = [named]
        for cores in ("another", "the one that computes"):
            cells += [_cell(figures.slowdown(rows, place, cores), "{:.2f}"),
                      _cell(figures.collective_ms(rows, place, cores), "{:.1f}")]  # fmt: skip
        lines.append(cells)
    return table(["exchange by", "worker on another core: a step takes so many times as long",
                  "ms an allreduce", "worker on the core that computes: a step takes so many times"
                  " as long", "ms an allreduce"], lines)  # fmt: skip


def skew(rows: list[Row]) -> str:
    """When ranks begin their next forward pass."""
    lines = []
    for how in SKEWED:
        for row in figures.of_turn(rows, part="skew", how=how):
            gaps = figures.starts_of_forward(row["trace"])
            told = "; ".join(", ".join(digits(gap) for gap in rank) for rank in gaps)
            lines.append([how, told, digits(1e3 * row["seconds"])])
    return table(["", "ms from the end of backward to the next forward pass: rank 0; rank 1",
                  "six steps, ms"], lines)  # fmt: skip
