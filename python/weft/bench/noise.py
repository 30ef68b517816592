"""Whether the machine had other work while something was measured."""

from __future__ import annotations

_TENS = 10.0  # the 99th percentile over the median, from which on it is said


def note(tails: dict[str, float]) -> str:
    """What to tell people; empty if nothing. By what was measured: p99 over the median."""
    many = sum(tail >= _TENS for tail in tails.values())
    if not many:
        return ""
    worst = max(tails, key=tails.__getitem__)
    return (
        f"noisy: p99 is {tails[worst]:.0f} times the median ({worst}; tens of times in {many} of "
        f"{len(tails)}). Other work had the cores: stop it, or measure again and compare"
    )
