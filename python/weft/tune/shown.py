"""What `weft tune` shows of its points: a table for people, JSON for programs."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table as Shown

from weft.tune.point import Point, Seconds, mean
from weft.tune.trial import Outcome


def table(found: list[tuple[Point, Outcome]]) -> Shown:
    """A line a point: the built-in choice, the quickest other one, regret and noise."""
    shown = Shown(box=box.SIMPLE_HEAD)
    for name in ("collective", "ranks", "bytes", "memory"):
        shown.add_column(name, no_wrap=True)
    for name in ("default", "quickest other"):  # long ones go on in the next line
        shown.add_column(name, overflow="fold")
        shown.add_column("µs", justify="right", no_wrap=True)
    for name in ("regret", "noise"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("so", no_wrap=True)
    for point, outcome in found:
        shown.add_row(
            point.collective, str(point.ranks), point.sizes_text(), point.memory,
            *_two(outcome), f"{outcome.regret:.2f}",
            f"{outcome.final.noise:.2f}" if outcome.final else "", _so(outcome),
        )  # fmt: skip
    return shown


def known(point: Point, outcome: Outcome, how: str) -> dict[str, Any]:
    """One object: the point, what is used and why, and every candidate."""
    final = outcome.final
    return {
        "collective": point.collective, "ranks": point.ranks, "nodes": point.nodes,
        "symmetric": point.symmetric, "bytes": point.sizes, "use": outcome.use,
        "built_in": outcome.builtin, "how": how,
        "gain": round(final.gain, 4) if final and final.wins else 1.0,
        "regret": round(outcome.regret, 4),
        "noise": round(final.noise, 4) if final else None,
        "ratios": [round(ratio, 4) for ratio in final.ratios()] if final else [],
        "default_against_itself": [round(r, 4) for r in final.against_itself()] if final else [],
        "reason": outcome.reason(), "undecided": outcome.undecided,
        "p99_over_median": round(outcome.tail, 2),
        "candidates": [
            {"candidate": name, "us": _us(seconds), "why": why}
            for name, seconds, why in outcome.candidates()
        ],
    }  # fmt: skip


def refused(point: Point, why: str) -> dict[str, Any]:
    """One object for a point that is left out."""
    return {
        "collective": point.collective, "ranks": point.ranks, "nodes": point.nodes,
        "symmetric": point.symmetric, "bytes": point.sizes, "refused": why,
    }  # fmt: skip


def _so(outcome: Outcome) -> str:
    return f"{outcome.reason()}, undecided" if outcome.undecided else outcome.reason()


def _two(outcome: Outcome) -> tuple[str, str, str, str]:
    """The built-in choice and the quickest other one, with times of the same turns."""
    heat, final = outcome.heat, outcome.final
    other = heat.challenger
    if other is None:
        return outcome.builtin.partition("/")[2], _time(heat.seconds[outcome.builtin]), "", ""
    default, best = (
        final.seconds() if final else (heat.seconds[outcome.builtin], heat.seconds[other])
    )
    names = outcome.builtin.partition("/")[2], other.partition("/")[2]
    return names[0], _time(default), names[1], _time(best)


def _us(seconds: Seconds) -> list[float]:
    return [round(one * 1e6, 3) for one in seconds]


def _time(seconds: Seconds) -> str:
    """Of several sizes the geometric mean."""
    us = mean(seconds) * 1e6
    return f"{us:.{2 if us < 10 else 1 if us < 100 else 0}f}"
