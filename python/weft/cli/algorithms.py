"""The shared parts of commands that take an algorithm: names, files, ranks, places, parameters."""

from __future__ import annotations

import contextlib
import re
import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from weft.errors import InvalidArgument
from weft.plan import Algorithm, algorithm_names, find_algorithm
from weft.topology.parts import MOST_RANKS
from weft.topology.placement import PLACEMENTS


class RankCounts(click.ParamType):
    """Rank counts in ascending order, from "1-17" or "2,4,8-10"."""

    name = "LIST"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        counts: set[int] = set()
        for part in value.split(","):
            first, dash, last = part.strip().partition("-")
            if not _is_count(first) or (dash and not _is_count(last)):
                self.fail(
                    f"{part[:60]!r}: give rank counts such as 4, 1-17 or 2,4,8, of at most "
                    f"{MOST_RANKS}",
                    param,
                    ctx,
                )
            counts.update(range(int(first), int(last if dash else first) + 1))
        if not counts or min(counts) < 1:
            self.fail(f"{value[:60]!r}: there is no rank count of at least 1 in it", param, ctx)
        return sorted(counts)


def _is_count(text: str) -> bool:
    return re.fullmatch("[0-9]{1,6}", text) is not None and int(text) <= MOST_RANKS


class Placement(click.ParamType):
    """A placement, from "natural", "scattered" or "0,2,1,3"."""

    name = "WORD|LIST"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | list[int]:
        numbers = [part.strip() for part in value.split(",")]
        if all(_is_count(number) for number in numbers):
            return [int(number) for number in numbers]
        if value not in PLACEMENTS:
            self.fail(f"{value[:60]!r}: give {', '.join(PLACEMENTS)} or places such as 0,2,1,3")
        return value


class Parameter(click.ParamType):
    """One parameter of a plan, from "node=4", "outer=ring" or "order=[0,2,1]"."""

    name = "NAME=VALUE"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int | str | list[int]]:
        name, _, text = value.partition("=")
        if match := re.fullmatch(r"\s*(?:(-?\d+)|([A-Za-z]\w*)|\[([-\d\s,]*)\])\s*", text):
            number, word, numbers = match.groups()
            with contextlib.suppress(ValueError):
                if numbers is not None:
                    return name.strip(), [int(n) for n in numbers.split(",") if n.strip()]
                return name.strip(), word or int(number)
        self.fail(
            f"{value[:60]!r}: give a name and a number, a word or a list of numbers, such as "
            "node=4, outer=ring or order=[0,2,1]",
            param,
            ctx,
        )


def parameters_text(params: Mapping[str, int | str | Sequence[int]]) -> str:
    """Parameters for a line of text, long lists abridged: "node=4, tree=[64,64,...] (79)"."""

    def text(value: int | str | Sequence[int]) -> str:
        if isinstance(value, (int, str)):
            return str(value)
        shown = ",".join(map(str, value[:8]))
        return f"[{shown}]" if len(value) <= 8 else f"[{shown},...] ({len(value)})"

    return ", ".join(f"{name}={text(value)}" for name, value in params.items())


def algorithms_of(what: str | None) -> list[Algorithm]:
    """The algorithms that an argument names: one, those that a file registers, or all.

    Raises:
        click.UsageError: if there is none.
        InvalidPlan: if the file's algorithm is refused as it is registered.
    """
    if what is None:
        return [find_algorithm(name) for name in algorithm_names()]
    if what.endswith(".py"):
        return [find_algorithm(name) for name in _registered_by(Path(what))]
    try:
        return [find_algorithm(what)]
    except InvalidArgument as error:
        raise click.UsageError(str(error)) from None


def _registered_by(file: Path) -> list[str]:
    if not file.is_file():
        raise click.UsageError(f"there is no file {file}")
    before = set(algorithm_names())
    # Under another name than __main__, so that a program's own work does not begin.
    runpy.run_path(str(file), run_name="weft_algorithms")
    new = [name for name in algorithm_names() if name not in before]
    if not new:
        raise click.UsageError(f"{file} registers no algorithm: decorate one with weft.algorithm")
    return new
