"""What the scripts that make the pages of docs/results share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
DATA = RESULTS / "data"


def asked_for_data(doc: str | None) -> bool:
    """Whether the command line says --data: make the data again first."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--data", action="store_true", help="make the data again first")
    return bool(parser.parse_args().data)


def steps(what: str, items: Sequence[Item]) -> Iterator[Item]:
    """The items, one after the other, with a line on stderr that says how far it is."""
    for number, item in enumerate(items, start=1):
        print(f"\r{what}: {number} of {len(items)}", end="", file=sys.stderr, flush=True)
        yield item
    print(file=sys.stderr)


def read(name: str) -> list[dict[str, Any]]:
    """The rows of docs/results/data/NAME.jsonl."""
    lines = (DATA / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def write(name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes docs/results/data/NAME.jsonl, a row a line."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (DATA / f"{name}.jsonl").write_text(text)


def of(rows: list[dict[str, Any]], **what: Any) -> list[dict[str, Any]]:
    """The rows in which all of this is so."""
    return [row for row in rows if all(row[key] == value for key, value in what.items())]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, *rows)]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def fill(page: str, parts: Mapping[str, str]) -> None:
    """Replaces what docs/results/PAGE.md has between `<!-- NAME -->` and `<!-- end -->`.

    Raises:
        ValueError: the page has no such place.
    """
    path = RESULTS / f"{page}.md"
    text = path.read_text()
    for name, part in parts.items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not mark or not end:
            raise ValueError(f"{path} has no <!-- {name} --> with an <!-- end --> after it")
        text = before + mark + part + "\n" + end + after
    path.write_text(text)


def size(nbytes: int) -> str:
    """Bytes as the pages write them: 8, 4 Ki, 25 Mi."""
    for unit, shift in (("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if nbytes and nbytes % (1 << shift) == 0:
            return f"{nbytes >> shift} {unit}"
    return str(nbytes)


def digits(number: float) -> str:
    """Three digits or so: 0.34, 23.1, 1469."""
    return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f}"
