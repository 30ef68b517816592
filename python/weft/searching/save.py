"""Saves the result of a search as a tuning file for communicators (docs/selection.md)."""

from __future__ import annotations

import math
from pathlib import Path

from weft.searching.finals import Found
from weft.tune.table import Table, this_machine


def save(found: Found, path: Path) -> None:
    """Writes a tuning file with one row: for the ranks, the nodes and about the size of the call.

    `WEFT_TUNING=path`, or `weft.init(tuning=path)`, makes communicators run what was found.

    Raises:
        OSError: the file cannot be written.
    """
    call = found.call
    row = {
        "collective": call.collective,
        "ranks": [call.ranks, call.ranks],
        "nodes": [found.nodes, found.nodes],
        # Halfway, as a factor, to half and twice the size.
        "bytes": [math.isqrt(call.nbytes**2 // 2), math.isqrt(2 * call.nbytes**2)],
        "use": str(found.best.candidate),
    }
    Table(this_machine(), [row]).save(path)
