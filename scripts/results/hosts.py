"""Writes docs/results/hosts.md's tables and plots: allreduce between hosts, beside other libraries.

From hosts.jsonl; --data first measures it again (half an hour; needs root and `make peers`): hosts
are network namespaces of this machine (testing/network.py). A run that was stopped goes on where
it was.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from links.cases import PLACES, RATES, SIZES, Row, wire
from links.plot import plot

from page import RESULTS, asked_for_data, digits, fill, of, read, size, table, write

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "gloo": "Gloo"}
# Weft by the interface that its peers have, and these; and with the system's libfabric.
BESIDE = {
    "weft": ["openmpi", "mpich"],
    "weft_torch": ["gloo"],
    "weft_system": ["openmpi", "mpich"],
}
WIRE_FROM = 4 << 20  # bytes from which on the wire's share is said


def measure() -> None:
    """Makes hosts.jsonl again."""
    sys.path.insert(0, str(ROOT / "testing"))
    from links.measure import measured  # isort: skip

    os.chdir(ROOT)  # from where weft.bench finds the peers
    kept = ROOT / "build" / "hosts.turns.jsonl"
    write("hosts", measured(kept))
    kept.unlink()


def cell(rows: list[Row], weft: str, rate: str, place: str, nbytes: int) -> str:
    """Weft / the fastest of its peers = ratio, and the wire's share of Weft's time."""
    here = of(rows, rate=rate, place=place, bytes=nbytes)
    times = {row["library"]: row["least_us"] for row in here}
    peers = [peer for peer in BESIDE[weft] if peer in times]
    if weft not in times or not peers:
        return ""
    mine, best = times[weft], min(peers, key=lambda peer: times[peer])
    name = f" {NAMES[best]}" if len(BESIDE[weft]) > 1 else ""
    text = f"{digits(mine)} / {digits(times[best])}{name} = **{mine / times[best]:.2f}**"
    if RATES[rate] is None or nbytes < WIRE_FROM:
        return text
    return f"{text}, {wire(rate, place, nbytes) / mine:.2f}"


def cells(rows: list[Row], weft: str, rate: str) -> str:
    """A table of all sizes and places."""
    return table(
        ["bytes", *PLACES],
        [[size(n), *(cell(rows, weft, rate, place, n) for place in PLACES)] for n in SIZES],
    )


def main() -> None:
    """Writes the page's parts and the plots."""
    if asked_for_data(__doc__):
        measure()
    rows = read("hosts")
    fill(
        "hosts",
        {f"{rate}, {weft}": cells(rows, weft, rate) for rate in RATES for weft in BESIDE},
    )
    for rate in RATES:
        name = rate.replace("/", " ").replace(" ", "_").lower()
        plot(of(rows, rate=rate), rate, RESULTS / f"hosts_{name}.png")


if __name__ == "__main__":
    main()
