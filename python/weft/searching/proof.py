"""Proves a winner, for fewer nodes if its own number would take minutes."""

from __future__ import annotations

import time

from weft.errors import InvalidPlan
from weft.plan import make_plan, verify
from weft.searching.space import Candidate

_MOST_RANKS = 64
# A proof of twice the ranks takes up to six times as long.
_MOST_SECONDS, _GROWTH = 20.0, 6


def prove(candidate: Candidate, ranks: int) -> int:
    """Proves the candidate's plan; returns for how many ranks: its own number, or the most it can.

    Fewer ranks are fewer nodes. Their number is even or odd, and a power of two or not, like the
    one asked for, so that the plan has the same parts. Lists, such as an order of ranks, are then
    left out.

    Raises:
        InvalidPlan: it is wrong; with the verifier's report.
    """
    proved, took = 0, 0.0
    for count in counts_of(candidate, ranks):
        if took * _GROWTH > _MOST_SECONDS:
            break
        start = time.monotonic()
        params = _parameters(candidate, whole=count == ranks)
        report = verify(make_plan(candidate.algorithm, count, params))
        took = time.monotonic() - start
        if not report.ok:
            raise InvalidPlan(f"{candidate} on {count} ranks: {report}")
        proved = count
    return proved


def _parameters(candidate: Candidate, *, whole: bool) -> dict[str, int | str | list[int]]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in candidate.params
        if whole or not isinstance(value, tuple)
    }


def counts_of(candidate: Candidate, ranks: int) -> list[int]:
    """Rank counts of the same shape, in order, each at least twice the one before; at most 64."""
    node = candidate.values().get("node", 1)
    size = node if isinstance(node, int) else 1
    nodes, rest = divmod(ranks, size)
    alike = (n for n in range(nodes, 0, -1) if _kind(n) == _kind(nodes))
    counts: list[int] = []
    for count in (n * size + rest for n in alike):
        if count <= max(_MOST_RANKS, size + rest) and (not counts or 2 * count <= counts[-1]):
            counts.append(count)
    return counts[::-1] or [ranks]


def _kind(nodes: int) -> tuple[bool, bool]:
    """Properties of a number on which algorithms depend."""
    return nodes % 2 == 0, nodes & (nodes - 1) == 0
