"""Sizes as people write them: 8, 4K, 25M, 1G."""

from __future__ import annotations

import re

from weft.errors import InvalidArgument

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_MOST_BYTES = 1 << 50


def parse_size(text: str) -> int:
    """Bytes: "8", "4K", "25M", "1G", where K is 1024."""
    match = re.fullmatch(r"([0-9]{1,15})([KMG]?)B?", text.strip().upper().replace("IB", ""))
    if not match or int(match[1]) * _UNITS[match[2]] > _MOST_BYTES:
        raise InvalidArgument(
            f"{text[:60]!r} is not a size: write 8, 4K, 25M or 1G (K is 1024), at most 1048576G"
        )
    return int(match[1]) * _UNITS[match[2]]


def size_text(count: int) -> str:
    """8, 4K, 25M: K is 1024."""
    for unit, power in (("G", 30), ("M", 20), ("K", 10)):
        if count and count % (1 << power) == 0:
            return f"{count >> power}{unit}"
    return str(count)
