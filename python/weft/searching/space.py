"""The candidates of a search: algorithms, their parameters, and lengths of chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from weft._core import Topology, fit, reaches_into_peers
from weft.errors import WeftError
from weft.plan import Algorithm, Plan, algorithm_names, find_algorithm, make_plan

Value = int | str | tuple[int, ...]
CHUNK = "chunk"
_WORDS = ("ring", "rabenseifner", "direct", "recursive_doubling")


def value_text(value: Value) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def _bytes_text(size: int) -> str:
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


@dataclass(frozen=True)
class Candidate:
    """An algorithm with parameters and the bytes of a chunk."""

    algorithm: str
    params: tuple[tuple[str, Value], ...] = ()
    chunk: int = 0

    def __str__(self) -> str:
        """As users write it: "allreduce/multi_leader(node=4,chunk=256K)"."""
        words = [f"{name}={value_text(value)}" for name, value in self.params]
        words += [f"chunk={_bytes_text(self.chunk)}"] * (self.chunk > 0)
        return f"{self.algorithm}({','.join(words)})" if words else self.algorithm

    def values(self) -> dict[str, Value]:
        return dict(self.params)

    def having(self, name: str, value: Value) -> Candidate:
        """A copy with another value of one parameter, or another chunk."""
        if name == CHUNK:
            return replace(self, chunk=value if isinstance(value, int) else 0)
        return replace(self, params=tuple((n, value if n == name else v) for n, v in self.params))

    def completed(self, fitted: Mapping[str, int | str | list[int]]) -> Candidate:
        """With the parameters that the topology answered, so that it needs no topology to run."""
        added = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fitted.items()
        }
        return replace(self, params=tuple({**dict(self.params), **added}.items()))


@dataclass(frozen=True)
class Axis:
    """The values of one parameter.

    Attributes:
        values: all of them; numbers in order.
        coarse: those that are tried in all combinations at first.
    """

    values: tuple[Value, ...]
    coarse: tuple[Value, ...]

    def beside(self, value: Value) -> tuple[Value, ...]:
        """Values to try instead of `value`: neighbours of a number, all other words of a word."""
        if not isinstance(value, int):
            return tuple(v for v in self.values if v != value)
        numbers = [v for v in self.values if isinstance(v, int)]
        return (*[v for v in numbers if v < value][-1:], *[v for v in numbers if v > value][:1])


@dataclass(frozen=True)
class Space:
    """One algorithm and the axes of its parameters."""

    algorithm: str
    axes: Mapping[str, Axis]

    def coarse(self) -> Iterator[Candidate]:
        for values in product(*(axis.coarse for axis in self.axes.values())):
            yield Candidate(self.algorithm, tuple(zip(self.axes, values, strict=True)))

    def beside(self, candidate: Candidate, chunks: Axis) -> Iterator[Candidate]:
        known = {**candidate.values(), CHUNK: candidate.chunk}
        for name, axis in {**self.axes, CHUNK: chunks}.items():
            for value in axis.beside(known[name]):
                yield candidate.having(name, value)


def spaces(collective: str, topology: Topology, ranks: int) -> list[Space]:
    """All algorithms of a collective that need no symmetric memory and support `ranks` ranks."""
    found = []
    for name in algorithm_names():
        algorithm = find_algorithm(name)
        if algorithm.collective != collective:
            continue
        small = _small_plan(name)
        if small is None or reaches_into_peers(algorithm, small.shape.ranks):
            continue
        fitted = _fitted(algorithm, topology, ranks)
        space = Space(name, _axes(small, fitted, ranks))
        if any(not algorithm.refuses(ranks, {**fitted, **c.values()}) for c in space.coarse()):
            found.append(space)
    return found


def chunk_axis(nbytes: int) -> Axis:
    """From 4 KiB on; what a rank's slots do not hold is shortened when it is priced."""
    values = tuple(4096 << i for i in range(max(1, (nbytes - 1).bit_length() - 11)))
    return Axis(values, tuple(dict.fromkeys((values[-1], values[len(values) // 2]))))


def _small_plan(algorithm: str) -> Plan | None:
    for ranks in (4, 2):
        try:
            return make_plan(algorithm, ranks)
        except WeftError:
            continue
    return None


def _fitted(algorithm: Algorithm, topology: Topology, ranks: int) -> dict[str, Any]:
    try:
        return fit(algorithm, ranks, {}, topology)
    except WeftError:
        return {}


def _axes(small: Plan, fitted: Mapping[str, Any], ranks: int) -> dict[str, Axis]:
    """By the names of parameters, as `weft.fit`: a user's own algorithm is searched as well."""
    own = fitted.get("node")
    node = own if isinstance(own, int) else 0
    known = {
        "node": _nodes(ranks, node),
        "leaders": _leaders(ranks, node),
        "inner": Axis(_WORDS[:3], _WORDS[:3]),
        "outer": Axis(_WORDS, _WORDS),
        "pieces": Axis((1, 2, 3, 4, 6, 8, 12, 16), (1, 4)),
        "radix": Axis((2, 3, 4, 5, 6, 8, 12, 16), (2, 4, 8)),
    }
    return {name: axis for name, axis in known.items() if name in small.shape.params}


def _nodes(ranks: int, node: int) -> Axis:
    """Around the topology's own; without one, all that divide the ranks."""
    divisors = tuple(d for d in range(1, ranks + 1) if ranks % d == 0)
    if not node:
        return Axis(divisors, (divisors[len(divisors) // 2],))
    near = {d for d in divisors if d % node == 0 or node % d == 0} | {node}
    return Axis(tuple(sorted(near)), (node,))


def _leaders(ranks: int, node: int) -> Axis:
    most = node or ranks
    values = {1 << i for i in range(most.bit_length())} | {most}
    return Axis(tuple(sorted(values)), tuple(sorted({1, most})) if node else (1,))
