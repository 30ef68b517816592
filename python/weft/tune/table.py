"""A tuning file, as docs/selection.md describes it."""

from __future__ import annotations

import json
import math
import os
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from weft import _core
from weft.errors import InvalidArgument
from weft.traits import TRAITS
from weft.tune.point import Point, Seconds
from weft.tune.trial import Outcome

VERSION = 1
_MANY = 1 << 30  # ranks, where a row names no end


def default_file() -> Path:
    """The user's own, which communicators read where nothing else is said."""
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "weft" / "tuning.json"


def this_machine() -> dict[str, Any]:
    """As a file says where it was measured."""
    known = _core.system_info()
    return {"processor": known["processor"], "cores": known["online_processors"]}


class Table:
    """The rows of a file. Rows without times (by hand, by a search) stay, at the end."""

    def __init__(self, machine: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        self.machine = machine
        self.rows = rows

    @classmethod
    def load(cls, path: Path) -> Table:
        """Reads a file. Raises InvalidArgument naming file and row."""
        _core.check_tuning(str(path))
        known = json.loads(path.read_bytes())
        return cls(known["machine"], known["rows"])

    @classmethod
    def open(cls, path: Path, machine: dict[str, Any], *, fresh: bool) -> Table:
        """The file, if it is there and of this machine, else an empty table."""
        if fresh or not path.exists():
            return cls(machine, [])
        table = cls.load(path)
        if table.machine != machine:
            raise InvalidArgument(
                f"{path} is of another machine ({_machine_text(table.machine)}, this is "
                f"{_machine_text(machine)}): give another --output, or --fresh to replace it"
            )
        return table

    def save(self, path: Path) -> None:
        """Writes the file whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        lines = ",\n".join(json.dumps(row) for row in self.rows)
        part.write_text(
            f'{{"weft_tuning": {VERSION}, "machine": {json.dumps(self.machine)}, "rows": [\n'
            f"{lines}\n]}}\n"
        )
        part.replace(path)

    def has(self, point: Point, how: str) -> bool:
        """Whether the point needs no work: what was measured need not be predicted."""
        return any(how in row or "measured" in row for row in self.rows if _is_at(row, point))

    def add(self, point: Point, outcome: Outcome, how: str) -> None:
        """Adds what was found; `how` is "measured" or "predicted"."""
        seconds = outcome.comparable()
        row = {
            "collective": point.collective,
            "ranks": [point.ranks, point.ranks],
            "nodes": [point.nodes, point.nodes],
            "symmetric": point.symmetric,
            "bytes": [0, None],
            # As built in, rather than its name: it knows how far each of its choices reaches.
            "use": "built-in" if outcome.use == outcome.builtin else outcome.use,
            how: [
                {"bytes": size, "us": _by_time(seconds, place)}
                for place, size in enumerate(point.sizes)
            ],
        }
        found = [
            old for old in self.rows if _sizes(old) and not _is_at(old, point)
            and not _is_superseded(old, row)
        ]  # fmt: skip
        others = [old for old in self.rows if not _sizes(old)]
        self.rows = _spread([*found, row]) + others


def _by_time(seconds: dict[str, Seconds], place: int) -> dict[str, float]:
    """Microseconds of each candidate at one of the sizes, the quickest first."""
    ordered = sorted(seconds, key=lambda name: seconds[name][place])
    return {name: round(seconds[name][place] * 1e6, 3) for name in ordered}


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    ends = [
        math.inf if end is None else end for end in (*row["ranks"], *row.get("nodes", [0, None]))
    ]
    return (row["collective"], *ends, row.get("symmetric", False))


def _has_known_size(row: dict[str, Any]) -> bool:
    """Whether calls of all its ranks have one."""
    traits = TRAITS[row["collective"]]
    return all(traits.has_known_size(_MANY if end is None else end) for end in row["ranks"])


def _is_superseded(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether one row for all sizes gives way to rows for each, since such calls have one now."""
    return _key(old) == _key(new) and _has_known_size(new) and len(_sizes(old)) > 1


def _is_at(row: dict[str, Any], point: Point) -> bool:
    ranks, nodes = [point.ranks] * 2, [point.nodes] * 2
    return _key(row) == (point.collective, *ranks, *nodes, point.symmetric) and (
        _sizes(row) == point.sizes
    )


def _sizes(row: dict[str, Any]) -> tuple[int, ...]:
    found = row.get("measured") or row.get("predicted") or []
    return tuple(one["bytes"] for one in found)


def _spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorted, each row from halfway to the next smaller size to halfway to the next larger one.

    Halfway is the geometric mean.
    """
    ordered = sorted(rows, key=lambda row: (*_key(row), _sizes(row)))
    for _, group in groupby(ordered, key=_key):
        of_key = list(group)
        if not _has_known_size(of_key[0]):
            continue
        sizes = [_sizes(row)[0] for row in of_key]
        ends = [math.isqrt(a * b) for a, b in pairwise(sizes)]
        for row, start, end in zip(of_key, [-1, *ends], [*ends, None], strict=True):
            row["bytes"] = [start + 1, end]
    return ordered


def _machine_text(machine: dict[str, Any]) -> str:
    return f"{machine['processor']}, {machine['cores']} cores"
