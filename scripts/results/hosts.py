"""Writes docs/results/hosts.md's tables: allreduce between hosts, beside Gloo, on limited links.

From hosts.jsonl; --data first measures anew (three minutes): hosts are network namespaces of this
machine, as in tests/hosts.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from weft.bench.processor import describe_processor

from page import asked_for_data, digits, fill, of, read, size, steps, table, write

ROOT = Path(__file__).resolve().parents[2]
SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 4 << 20, 25 << 20]
RATES = {"1 Gbit/s": "1gbit"}
ROUNDS = 2
# The host of each rank.
PLACES = {
    "2 x 1": [0, 1],
    "2 x 2, in blocks": [0, 0, 1, 1],
    "2 x 2, round robin": [0, 1, 0, 1],
    "4 x 1": [0, 1, 2, 3],
    "1, 2 and 1": [0, 1, 1, 2],
}
Row = dict[str, Any]


def measured() -> list[Row]:
    """All rows. Libraries take turns; processes are fresh in each."""
    sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "tests/hosts", "tests/torch")]
    from network import Hosts  # isort: skip
    from ranks.allreduce import measure  # isort: skip

    env = {"GLOO_SOCKET_IFNAME": "eth0", "WEFT_INTERFACE": "eth0", "WEFT_TUNING": "none"}
    turns = [
        (rate, place, backend)
        for rate in RATES
        for place in PLACES
        for _ in range(ROUNDS)
        for backend in ("weft", "gloo")
    ]
    found: dict[tuple[str, str, str, int], list[float]] = {}
    for rate, place, backend in steps("turns", turns):
        with Hosts(PLACES[place], rate=RATES[rate]) as hosts, hosts.team(env) as team:
            took = team.run(measure, backend, SIZES, timeout=200)[0]
        for nbytes, samples in zip(SIZES, took, strict=True):
            found.setdefault((rate, place, backend, nbytes), []).extend(samples)
    return [
        {
            "rate": rate, "place": place, "library": backend, "bytes": nbytes,
            "median_us": round(statistics.median(samples) * 1e6, 2),
            "min_us": round(min(samples) * 1e6, 2), "samples": len(samples),
            "processor": describe_processor(),
        }
        for (rate, place, backend, nbytes), samples in found.items()
    ]  # fmt: skip


def wire(rate: str, place: str, nbytes: int) -> float:
    """Microseconds that a host's link takes in any case: it sends 2(k-1)/k of the message.

    Of k hosts each has to learn the sum and to make its part known, and the sum of a block may be
    made on one of them: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69, 2009.
    """
    hosts = max(PLACES[place]) + 1
    gigabits = float(RATES[rate].removesuffix("gbit"))
    return 2 * (hosts - 1) / hosts * nbytes / (gigabits * 125)


def cell(rows: list[Row], rate: str, place: str, nbytes: int) -> str:
    """Weft / Gloo = times faster, and what part of the time the wire takes in any case."""
    weft, gloo = (
        of(rows, rate=rate, place=place, library=library, bytes=nbytes)[0]["median_us"]
        for library in ("weft", "gloo")
    )
    text = f"{digits(weft)} / {digits(gloo)} = **{gloo / weft:.2f}**"
    return f"{text}, {wire(rate, place, nbytes) / weft:.2f}" if nbytes >= 1 << 20 else text


def main() -> None:
    """Writes the tables."""
    if asked_for_data(__doc__):
        write("hosts", measured())
    rows = read("hosts")
    fill("hosts", {
        rate: table(
            ["bytes", *PLACES],
            [[size(n), *(cell(rows, rate, place, n) for place in PLACES)] for n in SIZES],
        )
        for rate in RATES
    })  # fmt: skip


if __name__ == "__main__":
    main()
