"""The data of a page that goes on where it was stopped: a line a turn, written once it is over."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft.bench.processes import BurstFailed
from weft.bench.processor import describe_processor

Row = dict[str, Any]


class Record:
    """A file of rows. A row's `turn` says what was measured. Turns that are there are not repeated.

    A turn that fails is not written, so the next run tries it again. In this run its variant has no
    further turn. With `each_processor`, turns of another processor do not count as there.
    """

    def __init__(self, path: Path, each_processor: bool = False) -> None:
        self.path = path
        self._each_processor = each_processor
        self._failures: dict[str, str] = {}  # by variant
        self._processor = describe_processor()
        path.touch()

    def rows(self) -> list[Row]:
        """All that is there."""
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def take(self, turns: Sequence[Row], measure: Callable[[Row], Row]) -> None:
        """Measures the turns that are not there yet, in their order."""
        there = {json.dumps(row["turn"]) for row in self.rows() if self._counts(row)}
        missing = [turn for turn in turns if json.dumps(turn) not in there]
        print(f"{len(turns) - len(missing)} turns are there, {len(missing)} to go", flush=True)
        for number, turn in enumerate(missing, start=1):
            start = time.monotonic()
            print(f"{number} of {len(missing)}: {_text(turn)}: ", end="", flush=True)
            print(self._taken(turn, measure), f"{time.monotonic() - start:.1f} s", flush=True)

    def _counts(self, row: Row) -> bool:
        return not self._each_processor or row["processor"] == self._processor

    def _taken(self, turn: Row, measure: Callable[[Row], Row]) -> str:
        variant = _text({name: of for name, of in turn.items() if name not in ("round", "seed")})
        if variant in self._failures:
            return "left out, as it has failed before,"
        try:
            row = {"turn": turn, **measure(turn), "processor": self._processor}
        except (BurstFailed, ValueError) as error:
            first, *more = str(error).splitlines()
            causes = [line.strip() for line in more if "rror" in line or "nsupported" in line]
            self._failures[variant] = "\n    ".join([first, *causes[:2]])
            return f"FAILED: {error}\n"
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        return "done,"

    def end(self) -> None:
        """Ends the program with 1 if a turn has failed, and says which."""
        if self._failures:
            failed = (f"{variant}: {why}" for variant, why in self._failures.items())
            sys.exit("failed, and tried again by the next run:\n" + "\n".join(failed))


def _text(turn: Row) -> str:
    return ", ".join(f"{name} {value}" for name, value in turn.items() if value != "")
