"""Writes docs/results/faults.md's table from faults.jsonl, which `make test-faults` makes."""

from __future__ import annotations

import statistics

from page import fill, of, read, table

BAD = ("wrong", "hang", "crash", "untyped", "left behind")


def main() -> None:
    rows = read("faults")
    lines = []
    for place in dict.fromkeys(row["place"] for row in rows):
        here = of(rows, place=place)
        seconds = [row["seconds"] for row in here]
        counts = [str(len(of(here, outcome=what))) for what in ("typed", *BAD)]
        median, most = statistics.median(seconds), max(seconds)
        lines.append([place, str(len(here)), *counts, f"{median:.3f}", f"{most:.2f}"])
    header = ["ranks", "kills", "typed error", *BAD, "all know after, median s", "most"]
    fill("faults", {"outcomes": table(header, lines)})


if __name__ == "__main__":
    main()
