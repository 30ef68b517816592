"""Kills a thousand ranks and writes an outcome a line: `make test-faults`.

    python tests/faults/kill_many.py FILE.jsonl [--kills 1000] [--libfabric FILE.so]

Shared memory has four tenths of the kills, two hosts three over the system's libfabric and three
over the other one. Exits with 1 if any outcome is none that Weft promises. Needs testing
and tests/faults on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import kills
from launch import LeftBehind
from network import obstacle

MORE_DESCRIPTORS = 2  # than after the first kill: a connection may just be closing


def kill_in(where: AbstractContextManager[kills.Place], seeds: range) -> Iterator[dict[str, Any]]:
    row: dict[str, Any] = {}
    before: list[int] = []
    try:
        with where as place:
            for number, case in enumerate(kills.cases(seeds, place), start=1):
                row = kills.one_kill(place, case)
                now = kills.descriptors(place)
                before = before or now
                if any(old + MORE_DESCRIPTORS < new for old, new in zip(before, now, strict=True)):
                    row |= {"outcome": "left behind", "text": f"descriptors: {before}, then {now}"}
                yield row
                print(f"\r{place.name}: {number} of {len(seeds)}", end="", file=sys.stderr)
        print(file=sys.stderr)
    except LeftBehind as error:
        yield row | {"outcome": "left behind", "text": str(error)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--libfabric", default="", help="another than the system's")
    asked = parser.parse_args()
    if reason := obstacle():
        sys.exit(f"no hosts to kill ranks on: {reason}")
    near, far = asked.kills * 4 // 10, asked.kills * 3 // 10
    parts = [
        kill_in(kills.shared_memory(), range(near)),
        kill_in(kills.two_hosts(), range(near, near + far)),
        kill_in(kills.two_hosts(asked.libfabric), range(near + far, near + 2 * far)),
    ]
    bad = 0
    with asked.file.open("w") as file:
        for part in parts:
            for row in part:
                file.write(json.dumps(row) + "\n")
                if row["outcome"] != "typed":
                    bad += 1
                    print(f"\n{row}", file=sys.stderr)
    if bad:
        sys.exit(f"{bad} of {asked.kills} kills ended otherwise than promised")


if __name__ == "__main__":
    main()
