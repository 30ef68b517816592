"""The arithmetic of caffe_gpi.md: what is counted from the rows. None: not measured."""

from __future__ import annotations

from statistics import median

from hiding.cases import (
    ALLREDUCE,
    ALONE,
    BETWEEN_HOSTS,
    BF16,
    GLOO,
    MODELS,
    PHASES,
    RATES,
    SHARDED,
    TREE,
    WEFT,
    Row,
)
from hiding.schedule import best_step, layers_of

Where = tuple[str, str, str]  # model, rate, place


def of_turn(rows: list[Row], **what: object) -> list[Row]:
    """The rows whose turn says all of this."""
    return [row for row in rows if all(row["turn"].get(k) == v for k, v in what.items())]


def step_ms(rows: list[Row], where: Where, how: str) -> float | None:
    """The median of all blocks, in milliseconds a step."""
    model, rate, place = where
    own = of_turn(rows, part="steps", model=model, rate=rate, place=place, how=how)
    found = [second for row in own for second in row["seconds"]]
    return 1e3 * median(found) if found else None


def over(rows: list[Row], where: Where, how: str, base: str) -> float | None:
    """The time of a step over that of another way."""
    mine, other = step_ms(rows, where, how), step_ms(rows, where, base)
    return mine / other if mine and other else None


def pair(rows: list[Row], where: Where, how: str, other: str) -> list[list[float]]:
    """Seconds a step of both, pair by pair."""
    model, rate, place = where
    own = of_turn(rows, part="pairs", model=model, rate=rate, place=place, how=how, against=other)
    return [one for row in own for one in row["seconds"]]


def wait(rows: list[Row], where: Where, how: str, other: str) -> str:
    """When GradientSync chose to wait in this pair."""
    model, rate, place = where
    own = of_turn(rows, part="pairs", model=model, rate=rate, place=place, how=how, against=other)
    return ", ".join(row["wait"] for row in own)


def ratio(rows: list[Row], where: Where, how: str, other: str) -> float | None:
    """The median of the pairs' ratios."""
    found = pair(rows, where, how, other)
    return median(mine / base for mine, base in found) if found else None


def wire_ms(rows: list[Row], where: Where) -> float | None:
    """The exchange of all gradients alone: measured, the least of all rounds."""
    own = of_turn(rows, part="wire", model=where[0], rate=where[1])
    return 1e3 * min(row["seconds"] for row in own) if own else None


def ideal_ms(rows: list[Row], where: Where, part: str = "layers") -> float | None:
    """A step under the best schedule of measured layers over the measured wire, on 2 x 1.

    `part`: "beside" has the layers' times while the wire is busy all the time.
    """
    wires = of_turn(rows, part="wire", model=where[0], rate=where[1])
    found = of_turn(rows, part=part, model=where[0], rate=where[1])
    if not wires or not found:
        return None
    rate = max(row["bytes"] / row["seconds"] for row in wires)
    return 1e3 * median(best_step(layers_of(r["layers"], r["update"], rate)) for r in found)


def hidden(rows: list[Row], where: Where, how: str) -> float | None:
    """(phases - this) / (phases - ideal): the share of what can be hidden that is."""
    return _share(step_ms(rows, where, PHASES), step_ms(rows, where, how), ideal_ms(rows, where))


def hidden_in_pairs(rows: list[Row], where: Where, how: str) -> float | None:
    """The same, from pairs of this way and phases."""
    found = pair(rows, where, how, PHASES)
    mine, phases = (1e3 * median(times) for times in zip(*found, strict=True)) if found else (0, 0)
    return _share(phases, mine, ideal_ms(rows, where)) if found else None


def _share(phases: float | None, mine: float | None, ideal: float | None) -> float | None:
    if phases is None or mine is None or ideal is None or phases <= ideal:
        return None
    return (phases - mine) / (phases - ideal)


def measured_places(rows: list[Row], model: str) -> list[Where]:
    """Where Gloo was measured."""
    return [where for where in every_place(model) if step_ms(rows, where, GLOO)]


def compared_places(rows: list[Row], model: str) -> list[Where]:
    """Where pairs or steps were measured."""
    return [
        where
        for where in every_place(model)
        if pair(rows, where, ALLREDUCE, WEFT) or step_ms(rows, where, GLOO)
    ]


def every_place(model: str) -> list[Where]:
    """All places and rates between hosts."""
    return [(model, rate, place) for place in BETWEEN_HOSTS for rate in RATES]


def goals(rows: list[Row]) -> list[tuple[str, float | None, str, bool | None]]:
    """What was asked: in words, the result, the bound, whether it was met."""
    made: list[tuple[str, float | None, str, bool | None]] = []
    slow, quick = ("alexnet", "1 Gbit/s", "2 x 1"), ("alexnet", "1 Gbit/s", "2 x 2")

    def at_most(words: str, found: float | None, bound: float) -> None:
        made.append((words, found, f"at most {bound:.2f}", found and found <= bound))

    def at_least(words: str, found: float | None, bound: float) -> None:
        made.append((words, found, f"at least {bound:.2f}", found and found >= bound))

    def gain(where: Where, how: str) -> float | None:
        found = over(rows, where, how, GLOO)
        return found and 1 / found

    for how in (ALLREDUCE, SHARDED):
        at_least(f"{how} on 2 x 2, 1 Gbit/s: speed over DDP on Gloo", gain(quick, how), 1.3)
    at_least(f"{BF16} on 2 x 1, 1 Gbit/s: speed over DDP on Gloo", gain(slow, BF16), 1.3)
    at_least("AlexNet's allreduce on 2 x 1, 1 Gbit/s: hidden",
             hidden_in_pairs(rows, slow, ALLREDUCE), 0.8)  # fmt: skip
    for model in MODELS:
        for where in compared_places(rows, model):
            named = f"{'AlexNet' if model == 'alexnet' else 'LeNet'}, {where[1]}, {where[2]}"
            for how in (ALLREDUCE, SHARDED):
                at_most(f"{named}: {how} over DDP on Weft", ratio(rows, where, how, WEFT), 1.03)
            if model == "alexnet":
                at_most(f"{named}: tree over allreduce", ratio(rows, where, TREE, ALLREDUCE), 1.1)
    return made


def node_ms(rows: list[Row], model: str, place: str, how: str) -> float | None:
    """A step of all images on one node, in milliseconds."""
    own = of_turn(rows, part="node", model=model, place=place, how=how)
    found = [second for row in own for second in row["seconds"]]
    return 1e3 * median(found) if found else None


def speed_up(rows: list[Row], model: str, how: str) -> float | None:
    """Of two ranks over one, which has all images."""
    alone, both = node_ms(rows, model, "1 x 1", ALONE), node_ms(rows, model, "1 x 2", how)
    return alone / both if alone and both else None


def slowdown(rows: list[Row], place: str, cores: str) -> float | None:
    """Of a computation by a worker that carries on collectives beside it."""
    own = of_turn(rows, part="worker", place=place, cores=cores)
    return median(row["beside"] / row["alone"] for row in own) if own else None


def collective_ms(rows: list[Row], place: str, cores: str) -> float | None:
    """Of an allreduce of 16 MiB beside that computation."""
    own = of_turn(rows, part="worker", place=place, cores=cores)
    return 1e3 * median(row["collective"] for row in own) if own else None


def starts_of_forward(trace: Row) -> list[list[float]]:
    """By rank, of each step but the last: ms from the end of backward to the next forward pass."""
    found: dict[int, list[tuple[float, float, str]]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] == "compute":
            span = (event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3, event["name"])
            found.setdefault(event["pid"], []).append(span)
    gaps = []
    for _, spans in sorted(found.items()):
        ends = [end for _, end, name in spans if name == "backward"]
        begins = [begin for begin, _, name in spans if name == "forward"]
        gaps.append([min(b for b in begins if b >= end) - end for end in sorted(ends)[:-1]])
    return gaps
