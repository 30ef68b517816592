"""From samples to rows: one row a case and library, as the JSON lines and the table show it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from rich import box
from rich.table import Table

from weft.bench.cases import Case
from weft.bench.job import Measured
from weft.bench.libraries import Library
from weft.bench.processor import describe_processor
from weft.sizes import size_text


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
    processor: str  # model, family, cores and caches of the machine

    @property
    def tail(self) -> float:
        """The 99th percentile over the median."""
        return self.p99_us / self.median_us if self.median_us else 1.0

    def json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def rows(
    cases: list[Case], libraries: list[Library], measured: list[list[list[Measured]]]
) -> Iterator[Row]:
    """`measured`: by library, rank and case. Rows of one case are together."""
    processor = describe_processor()
    for index, case in enumerate(cases):
        for library, of_ranks in zip(libraries, measured, strict=True):
            yield _row(case, library, [rank[index] for rank in of_ranks], processor)


def _row(case: Case, library: Library, of_ranks: list[Measured], processor: str) -> Row:
    slowest = np.max([m.seconds for m in of_ranks], axis=0) * 1e6
    median = float(np.median(slowest))
    algbw = case.bytes / median / 1e3
    return Row(
        case.collective,
        library.name,
        of_ranks[0].algorithm,
        case.bytes,
        case.ranks,
        case.dtype,
        library.api,
        case.symmetric and library.name == "weft",
        round(median, 3),
        round(float(np.percentile(slowest, 99)), 3),
        round(float(slowest.min()), 3),
        round(algbw, 7),
        round(algbw * case.bus_factor, 7),
        all(m.correct for m in of_ranks),
        processor,
    )


def table(found: list[Row]) -> Table:
    """For people: times, bandwidths, and how many times faster Weft is than each peer."""
    shown = Table(title=title(found), box=box.SIMPLE_HEAD)
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


def title(found: list[Row]) -> str:
    """The part that all rows of a run have in common, in words."""
    row = next((row for row in found if row.library == "weft"), found[0])
    memory = ", Weft in symmetric memory" if row.symmetric else ""
    return f"{row.collective}, {row.ranks} ranks, {row.dtype}{memory}"
