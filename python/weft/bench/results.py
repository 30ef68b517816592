"""From samples to rows: one row a case and library, as the JSON lines and the table show it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from rich import box
from rich.table import Table

from weft.bench.cases import Case
from weft.bench.messages import Measured


@dataclass(frozen=True)
class Row:
    """Times of an operation on its slowest rank. GBps: 1e9 bytes a second, at the median."""

    collective: str
    library: str
    algorithm: str | None  # None: the library does not say
    bytes: int
    ranks: int
    dtype: str
    api: str
    symmetric: bool
    median_us: float
    p99_us: float
    min_us: float
    algbw_GBps: float
    busbw_GBps: float
    correct: bool

    def json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def rows(cases: list[Case], measured: list[list[Measured]]) -> Iterator[Row]:
    """`measured`: by rank, each in the same order."""
    for of_ranks in zip(*measured, strict=True):
        first = of_ranks[0]
        case = cases[first.case]
        slowest = np.max([m.seconds for m in of_ranks], axis=0) * 1e6
        median = float(np.median(slowest))
        algbw = case.bytes / median / 1e3
        weft = first.library == "weft"
        yield Row(
            case.collective,
            first.library,
            first.algorithm,
            case.bytes,
            case.ranks,
            case.dtype,
            case.api if weft else "torch",
            case.symmetric and weft,
            round(median, 3),
            round(float(np.percentile(slowest, 99)), 3),
            round(float(slowest.min()), 3),
            round(algbw, 7),
            round(algbw * case.bus_factor, 7),
            all(m.correct for m in of_ranks),
        )


def size_text(count: int) -> str:
    """8, 4K, 25M: K is 1024."""
    for unit, power in (("G", 30), ("M", 20), ("K", 10)):
        if count and count % (1 << power) == 0:
            return f"{count >> power}{unit}"
    return str(count)


def table(found: list[Row]) -> Table:
    """For people: times, bandwidths, and how many times faster Weft is than each peer."""
    shown = Table(title=_title(found[0]), box=box.SIMPLE_HEAD)
    for name in ("size", "library", "algorithm"):
        shown.add_column(name, no_wrap=True)
    for name in ("median µs", "p99 µs", "min µs", "alg GB/s", "bus GB/s", "Weft is"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("correct")
    ours = {row.bytes: row for row in found if row.library == "weft"}
    for row, following in zip(found, [*found[1:], None], strict=True):
        faster = row.median_us / ours[row.bytes].median_us
        shown.add_row(
            size_text(row.bytes), row.library, (row.algorithm or "").partition("/")[2],
            f"{row.median_us:.2f}", f"{row.p99_us:.2f}", f"{row.min_us:.2f}",
            f"{row.algbw_GBps:.3f}", f"{row.busbw_GBps:.3f}",
            "" if row.library == "weft" else f"{faster:.2f}x", "yes" if row.correct else "NO",
            end_section=following is None or following.bytes != row.bytes,
        )  # fmt: skip
    return shown


def _title(row: Row) -> str:
    memory = ", symmetric memory" if row.symmetric else ""
    return f"{row.collective}, {row.ranks} ranks, {row.dtype}, {row.api} interface{memory}"
