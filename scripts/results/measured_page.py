"""The program of a page whose data goes on where it was stopped: measures, then writes the page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from record import Record, Row

from page import DATA

ROOT = Path(__file__).resolve().parents[2]
# The turns of a part, and what measures one of them.
Part = tuple[Sequence[Row], Callable[[Row], Row]]


def run(
    about: str,
    name: str,
    parts: Sequence[str],
    measuring: Callable[[Record, bool], dict[str, Part]],
    write_page: Callable[[], None],
) -> None:
    """Measures if that is asked for, and writes the page.

    `about` is the --help. `parts` are measured in this order, so that a run which is stopped has
    something of everything. `measuring` gets the record, and whether a little is enough.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", choices=parts, help="measure first; by default all")
    parser.add_argument("--trial", nargs="*", choices=parts, help="measure a little, into build/")
    options = parser.parse_args()
    trial = options.trial is not None
    asked = options.trial if trial else options.data
    record = None
    if asked is not None:
        sys.path.insert(0, str(ROOT / "testing"))
        os.chdir(ROOT)  # from where weft.bench finds the peers
        record = Record((ROOT / "build" if trial else DATA) / f"{name}.jsonl")
        steps = measuring(record, trial)
        for part in asked or parts:
            print(f"== {part}: ", end="")
            record.take(*steps[part])
    if not trial:
        write_page()
    if record:
        record.end()
