"""Checks of arguments: every rank refuses what no rank can use.

Each function returns the argument as the core takes it, or raises `InvalidArgument`, which starts
with `who`: the rank, the call and the argument.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weft.errors import InvalidArgument

_MOST_INT = 2**31 - 1
_MOST_COUNT = 2**48  # elements; more than any machine can address


def whole(value: Any, who: str, least: int = -_MOST_INT - 1, most: int = _MOST_INT) -> int:
    """A whole number from `least` to `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise InvalidArgument(f"{who} is {value!r}: give a whole number from {least} to {most}")
    return number


def counts(values: Iterable[Any] | None, who: str, size: int) -> list[int] | None:
    """One number of elements for each rank, or None."""
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{who} is {values!r}: give a list of {size} whole numbers")
    known = list(values)
    if len(known) != size:
        raise InvalidArgument(f"{who} has {len(known)} entries: give one a rank, {size}")
    return [whole(value, f"{who}[{i}]", 0, _MOST_COUNT) for i, value in enumerate(known)]


def seconds(value: Any, who: str) -> float:
    """A time above zero, in seconds."""
    number = _number(value)
    if number is None or not 0 < number < 1e9:
        raise InvalidArgument(f"{who} is {value!r}: give a number of seconds, above zero")
    return number


def scale(value: Any, who: str) -> float:
    """A factor."""
    number = _number(value)
    if number is None:
        raise InvalidArgument(f"{who} is {value!r}: give a number")
    return number


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def text(value: Any, who: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{who} is {value!r}: give a string")
    return value


def flag(value: Any, who: str) -> bool:
    """True or False."""
    if value is not True and value is not False:
        raise InvalidArgument(f"{who} is {value!r}: give True or False")
    return value


# How each argument of a call is to be, by its name.
_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    "op": text,
    "scale": scale,
    "algorithm": text,
    "symmetric": flag,
    "root": whole,
    "destination": whole,
    "source": whole,
    "tag": lambda value, who: whole(value, who, 0),
    "color": whole,
    "key": whole,
    "collective": text,
    "count": lambda value, who: whole(value, who, 0, _MOST_COUNT),
    "dtype": text,
    "why": text,
    "fabric": text,
    "wire": text,
    "priority": whole,
    "reproducible": flag,
}


def refuse_wrong(who: str, **arguments: Any) -> None:
    """Raises for the first of `arguments` that is not as it should be.

    For a call that the core did not take: to check every call first would cost time.
    """
    for name, value in arguments.items():
        if name in _CHECKS:
            _CHECKS[name](value, f"{who}: {name}")
