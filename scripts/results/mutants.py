"""Writes the tables of docs/results/mutants.md: plans with one thing changed, and how they ended.

From mutants.jsonl, which `make test-mutants` makes again (some minutes).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from page import fill, read, table

Row = dict[str, Any]
FAILURES = ["wrong", "hung", "crashed"]


def ends_by(rows: list[Row], name: Callable[[Row, str], str]) -> dict[str, Counter[str]]:
    """How many mutants ended in which way, by a name of their plan and kind."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        for kind, ends in row["kinds"].items():
            found.setdefault(name(row, kind), Counter()).update(ends)
    return found


def lines(found: dict[str, Counter[str]]) -> list[list[str]]:
    """A line for each name: made, refused, proved and run, and what of these went wrong."""
    return [
        [name, *map(str, (ends.total(), ends["refused"], ends.total() - ends["refused"])),
         *(str(ends[failure]) for failure in FAILURES)]
        for name, ends in found.items()
    ]  # fmt: skip


def main() -> None:
    """Writes the tables."""
    rows = read("mutants")
    header = ["made", "refused", "proved and run", *FAILURES]
    collectives = ends_by(rows, lambda row, _: row["plan"].split("/")[0])
    fill("mutants", {
        "all": table(["plans", *header], lines(ends_by(rows, lambda *_: str(len(rows))))),
        "ranks": table(["ranks", *header], lines(ends_by(rows, lambda row, _: str(row["ranks"])))),
        "collectives": table(["collective", *header], lines(collectives)),
        "kinds": table(["changed", *header], lines(ends_by(rows, lambda _, kind: kind))),
    })  # fmt: skip


if __name__ == "__main__":
    main()
