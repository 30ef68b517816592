"""The tables of docs/results/regret.md, one of each kind a processor."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable
from typing import Any

from weft.sizes import parse_size
from weft.tune.trial import noise

from page import digits, of, size, table

Row = dict[str, Any]
Choices = Callable[[str, list[Row]], list[str]]  # of a processor today, for each row's call
COLLECTIVES = ["allreduce", "broadcast", "allgather", "reduce_scatter", "alltoall"]
MEDIAN = 1.03  # what the median may be
WORST = 1.15  # what each cell may be, or what the default's runs differ by
_NOTHING = "No processor was measured yet."


def parts(rows: list[Row], choices: Choices) -> dict[str, str]:
    """The parts of the page, from rows of regret.jsonl."""
    rows = [row["turn"] | row for row in rows]
    processors = dict.fromkeys(row["processor"] for row in rows)
    tables = [_of_processor(name, of(rows, processor=name), choices) for name in processors]
    return {
        "regret": "\n\n".join(tables) or _NOTHING,
        "candidates": _candidates(rows) if rows else _NOTHING,
    }


def regret(row: Row) -> float:
    """The median ratio, at least 1: the default is a candidate, too."""
    return max(1.0, statistics.median(row["ratios"]))


def itself(row: Row) -> float:
    """The 95th percentile of the default against the default."""
    return noise(row["default_against_itself"])


def above(row: Row) -> bool:
    """Whether a cell loses more than it may."""
    return regret(row) > max(WORST, itself(row))


def noisy(row: Row) -> bool:
    """Whether a cell says nothing: the default's own runs differ by more than it may lose."""
    return itself(row) > WORST and not regret(row) > itself(row)


def _of_processor(name: str, rows: list[Row], choices: Choices) -> str:
    today = choices(name, rows)
    rows = [row | {"changed": _changed(row, now)} for row, now in zip(rows, today, strict=True)]
    cells = [f"### {name}", _summary(rows), _cells(rows)]
    if lost := [row for row in rows if regret(row) > max(MEDIAN, itself(row))]:
        head = ["call", "default", "µs", "the candidate", "µs", "regret", "default against itself"]
        cells += ["Cells in which the candidate wins by more than the noise:"]
        cells += [table(head, map(_line, sorted(lost, key=regret, reverse=True)))]
    return "\n\n".join(cells)


def _changed(row: Row, now: str) -> bool:
    """Whether `now` is another choice. A chunk that is no shorter than the message makes none."""
    before, after = (
        _without_chunk(name) if _chunk(name) >= row["bytes"] else name
        for name in (row["default"], now)
    )
    return before != after


def _chunk(name: str) -> float:
    """Bytes; infinite if the name has none."""
    found = re.search(r"chunk=(\w+)", name)
    return parse_size(found[1]) if found else math.inf


def _summary(rows: list[Row]) -> str:
    worst = max(rows, key=regret)
    many = sum(above(row) for row in rows)
    median = statistics.median(map(regret, rows))
    unclear = sum(map(noisy, rows))
    usual = statistics.median(map(itself, rows))
    changed = sum(row["changed"] for row in rows)
    return (
        f"{len(rows)} cells. Regret: median **{median:.3f}**, worst {regret(worst):.2f} "
        f"({_call(worst)}). {many} of them are above {WORST:.2f} and above the default against "
        f"itself. {unclear} say nothing, since the default differs from itself by more than "
        f"{WORST:.2f}. The default against itself: median {usual:.2f}. "
        f"{changed} are of another choice than today's (†)."
    )


def _cells(rows: list[Row]) -> str:
    """Sizes down, collectives and memories across."""
    kinds = sorted({(row["collective"], row["memory"]) for row in rows}, key=_place)
    found = {(row["collective"], row["memory"], row["bytes"]): row for row in rows}
    sizes = sorted({row["bytes"] for row in rows})
    head = ["bytes", *(f"{c}, symmetric" if m == "symmetric" else c for c, m in kinds)]
    lines: Iterable[list[str]] = (
        [size(n), *(_cell(found.get((c, m, n))) for c, m in kinds)] for n in sizes
    )
    return table(head, lines)


def _place(kind: tuple[str, str]) -> tuple[int, str]:
    return COLLECTIVES.index(kind[0]), kind[1]


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    text = f"{regret(row):.2f}"
    mark = (" ?" if noisy(row) else "") + (" †" if row["changed"] else "")
    return f"{f'**{text}**' if above(row) else text} / {itself(row):.2f}{mark}"


def _line(row: Row) -> list[str]:
    return [
        _call(row), f"`{row['default'].partition('/')[2]}`", digits(row["default_us"]),
        f"`{row['challenger'].partition('/')[2]}`", digits(row["challenger_us"]),
        f"{regret(row):.2f}", f"{itself(row):.2f}",
    ]  # fmt: skip


def _call(row: Row) -> str:
    return f"{row['collective']} {size(row['bytes'])}, {row['memory']}"


def _candidates(rows: list[Row]) -> str:
    """By collective and memory; what differs in its chunk only is named once."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        names = found.setdefault((row["collective"], row["memory"]), {})
        names.update(dict.fromkeys(_without_chunk(name) for name in row["candidates"]))
    lines = (
        [collective, memory, ", ".join(f"`{name}`" for name in sorted(names))]
        for (collective, memory), names in found.items()
    )
    return table(["collective", "memory", "candidates"], lines)


def _without_chunk(name: str) -> str:
    head, _, inside = name.partition("/")[2].partition("(")
    kept = [part for part in inside.rstrip(")").split(",") if part and "chunk=" not in part]
    return f"{head}({','.join(kept)})" if kept else head
