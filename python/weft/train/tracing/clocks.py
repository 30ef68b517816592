"""How the clocks of the ranks lie to each other."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_ROUNDS = 20


class Clock(NamedTuple):
    """What to add to a rank's times to get rank 0's, in nanoseconds; at most `error` is wrong."""

    offset: int
    error: int
    at: int  # the rank's own time when this was found


def read_clocks(ranks: Any) -> list[Clock]:
    """The clock of each rank. Collective.

    No rank leaves an allgather before all have entered it. So rank 0's time of entering is at
    most any rank's time of leaving, and the other way round. Each of 20 rounds gives both bounds
    of every offset; the offset is the middle of the narrowest. Ranks of one kernel read one clock:
    their offset is 0, without error.

    Args:
        ranks: the group, see `weft.train.group.Group`.
    """
    entered, left = [], []
    for _ in range(_ROUNDS):
        entered.append(time.perf_counter_ns())
        ranks.allgather(np.zeros(1, np.int64))
        left.append(time.perf_counter_ns())
    mine = np.array([*entered, *left, _kernel()], np.int64)
    every = ranks.allgather(mine)
    return [_clock(every[0], row) for row in every]


def _clock(first: np.ndarray, other: np.ndarray) -> Clock:
    least = int((first[:_ROUNDS] - other[_ROUNDS:-1]).max())
    most = int((first[_ROUNDS:-1] - other[:_ROUNDS]).min())
    at = int(other[_ROUNDS - 1])
    if first[-1] == other[-1] and least <= 0 <= most:
        return Clock(0, 0, at)
    return Clock((least + most) // 2, (most - least + 1) // 2, at)


def _kernel() -> int:
    """A number of this boot of this kernel."""
    text = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return int(text.replace("-", "")[:15], 16)


def to_first(time_ns: int, start: Clock, end: Clock) -> float:
    """A rank's time as rank 0's, between two readings of the clocks: they may drift meanwhile."""
    passed = max(1, end.at - start.at)
    share = min(1.0, max(0.0, (time_ns - start.at) / passed))
    return time_ns + start.offset + share * (end.offset - start.offset)
