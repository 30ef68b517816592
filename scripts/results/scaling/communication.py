"""Measures what a worker's copies and sums take."""

from __future__ import annotations

from scaling.cases import Row
from weft.topology.measure import measure


def measured(turn: Row) -> Row:
    """Bytes a second of copies and sums, seconds of a step and of a call, on each of two ranks.

    The largest buffers count, which lie in no cache.
    """
    found = measure(2, rounds=1)
    largest = found.by_size[max(found.by_size)]
    rates = {name: largest[name][0] for name in ("copy", "reduce")}
    return {"rates": rates | {name: found.rates[name][0] for name in ("step", "call")}}
