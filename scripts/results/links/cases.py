"""What hosts.py measures."""

from __future__ import annotations

from typing import Any

SIZES = [8, 4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20]
# As tc says them; None: not limited.
RATES = {"1 Gbit/s": "1gbit", "10 Gbit/s": "10gbit", "unlimited": None}
# The host of each rank.
PLACES = {
    "2 x 1": [0, 1],
    "2 x 2, in blocks": [0, 0, 1, 1],
    "2 x 2, round robin": [0, 1, 0, 1],
    "4 x 1": [0, 1, 2, 3],
    "1, 2 and 1": [0, 1, 1, 2],
}
# Of a library's turns on a link: most where the processor decides alone.
ROUNDS = {"1 Gbit/s": 3, "10 Gbit/s": 3, "unlimited": 6}
TORCH_ROUNDS = {"1 Gbit/s": 1, "10 Gbit/s": 1, "unlimited": 3}  # ratios are far from 1
SECONDS = 0.15  # of a case in a turn
Row = dict[str, Any]


def hosts(place: str) -> int:
    """How many."""
    return max(PLACES[place]) + 1


def rounds(rate: str, library: str) -> int:
    """How often a library has its turn."""
    return (TORCH_ROUNDS if library in ("weft_torch", "gloo") else ROUNDS)[rate]


def wire(rate: str, place: str, nbytes: int) -> float:
    """Microseconds that a host's link takes in any case: it sends 2(k-1)/k of the message.

    Of k hosts each has to learn the sum and to make its part known, and the sum of a block may be
    made on one of them: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69, 2009.

    Raises:
        ValueError: the rate is not limited.
    """
    limit = RATES[rate]
    if limit is None:
        raise ValueError(f"{rate}: a link without a limit has no bound")
    share = 2 * (hosts(place) - 1) / hosts(place)
    return share * nbytes / (float(limit.removesuffix("gbit")) * 125)
