"""Writes the tables of docs/results/search.md: what `weft search` finds on TSUBAME 3.

From search.jsonl; --data first searches again (some ten minutes).
"""

from __future__ import annotations

import time
from typing import Any

from page import asked_for_data, digits, fill, read, size, steps, table, write

RANKS = 256
# Bytes, and memory for slots: 0 is no limit.
MAIN = 32 << 20
CALLS = [(4 << 20, 0), (MAIN, 0), (128 << 20, 0), (MAIN, 4 << 20)]
Row = dict[str, Any]


def searched(nbytes: int, slots: int) -> Row:
    """What is found for one call, beside the compositions of the document."""
    import weft
    from weft.topology import load

    place = load("tsubame3")
    how = {"topology": place, "ranks": RANKS, "nbytes": nbytes}
    start = time.monotonic()
    found = weft.search("allreduce", slot_bytes=slots, simulate=True, **how)
    return {
        "bytes": nbytes, "slots": slots, "use": str(found.best.candidate),
        "priced": found.best.price.seconds, "simulated": found.best.simulated,
        "joules": weft.simulate(str(found.best.candidate), energy=True, **how).joules,
        "bound": found.bound, "candidates": found.priced, "simulations": found.simulated,
        "proved_ranks": found.proved_ranks, "took": time.monotonic() - start,
        **{name: weft.simulate(name, **how).seconds for name in ("lr", "lr_lr", "lr_rab")},
    }  # fmt: skip


def milliseconds(seconds: float) -> str:
    return digits(seconds * 1e3)


def winners(rows: list[Row]) -> str:
    """Times, ratios, and how far the links' own limit is."""
    header = ["bytes", "slots", "lr", "lr_rab", "found", "to lr", "to lr_rab", "links alone",
              "found to links"]  # fmt: skip
    lines = []
    for row in rows:
        best = row["simulated"]
        lines.append(
            [size(row["bytes"]) + "B", size(row["slots"]) + "B" if row["slots"] else "any",
             milliseconds(row["lr"]), milliseconds(row["lr_rab"]), milliseconds(best),
             f"{best / row['lr']:.3f}", f"{best / row['lr_rab']:.3f}", milliseconds(row["bound"]),
             f"{best / row['bound']:.3f}"]
        )  # fmt: skip
    return table(header, lines)


def uses(rows: list[Row]) -> str:
    """What was found, and after how much work."""
    header = ["bytes", "slots", "what", "priced", "simulated", "proved for", "minutes"]
    lines = []
    for row in rows:
        slots = size(row["slots"]) + "B" if row["slots"] else "any"
        lines.append(
            [size(row["bytes"]) + "B", slots, f"`{row['use']}`", str(row["candidates"]),
             str(row["simulations"]), f"{row['proved_ranks']} ranks", f"{row['took'] / 60:.1f}"]
        )  # fmt: skip
    return table(header, lines)


def main() -> None:
    """Writes the tables."""
    if asked_for_data(__doc__):
        write("search", [searched(*call) for call in steps("searches", CALLS)])
    rows = read("search")
    fill("search", {"winners": winners(rows), "uses": uses(rows)})


if __name__ == "__main__":
    main()
