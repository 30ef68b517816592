"""The last rounds of a search: the best few by price, simulated, and the steps around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from weft._core import Price
from weft.searching.call import Call
from weft.searching.explore import Prices
from weft.searching.space import Candidate, Space, chunk_axis

_ROUNDS = 8
# Candidates up to this many times the best price are simulated,
_SLACK = 1.3
# and candidates of at most this many messages, which take some ten seconds, or of twice the fewest
# messages among the nearly best prices.
_MANY_MESSAGES, _NEARLY = 50_000, 1.1


@dataclass(frozen=True)
class Outcome:
    """A candidate and what it takes.

    Attributes:
        candidate: the algorithm, all of its parameters but a root, the bytes of a chunk.
        price: by the cost model.
        simulated: seconds in SimGrid; None if it was not simulated.
    """

    candidate: Candidate
    price: Price
    simulated: float | None = None

    @property
    def seconds(self) -> float:
        return self.price.seconds if self.simulated is None else self.simulated


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes:
        call: what was searched for.
        outcomes: the best; by simulation those that were simulated, then by price.
        priced: how many candidates were priced.
        simulated: how many were simulated.
        bound: seconds that the links take in any case.
        proved_ranks: for this number of ranks the best one was proved.
    """

    call: Call
    outcomes: list[Outcome]
    priced: int
    simulated: int
    bound: float
    proved_ranks: int

    @property
    def best(self) -> Outcome:
        return self.outcomes[0]

    @property
    def nodes(self) -> int:
        """How many machines the ranks are on."""
        place = self.call.topology
        on = {place.vertices[vertex].node for vertex in place.ranks[: self.call.ranks]}
        return 1 if -1 in on else len(on)


class Simulations:
    """Simulations of candidates, each done once, several at a time."""

    def __init__(self, call: Call, jobs: int, say: Callable[[str], None]) -> None:
        self._call, self._say = call, say
        self._pool = ThreadPoolExecutor(jobs)
        self.seconds: dict[Candidate, float] = {}

    def __enter__(self) -> Simulations:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def run(self, candidates: Iterable[Candidate]) -> None:
        new = [c for c in dict.fromkeys(candidates) if c not in self.seconds]
        for candidate, seconds in zip(new, self._pool.map(self._one, new), strict=True):
            self.seconds[candidate] = seconds
            best = min(self.seconds.values()) * 1e3
            self._say(f"{len(self.seconds)} simulated, the best takes {best:.4g} ms")

    def best(self) -> Candidate:
        return min(self.seconds, key=lambda c: self.seconds[c])

    def _one(self, candidate: Candidate) -> float:
        from weft.simulation import simulate

        call = self._call
        return simulate(
            candidate.algorithm, call.topology, nbytes=call.nbytes, ranks=call.ranks,
            params=candidate.values(), chunk=candidate.chunk, dtype=call.dtype,
        ).seconds  # fmt: skip


def by_price(tried: dict[Candidate, Price]) -> list[Candidate]:
    """All outcomes, the best first; of those that differ only in the chunk, the best one."""
    kept: dict[tuple[object, ...], Candidate] = {}
    for candidate in sorted(tried, key=lambda c: (tried[c].seconds, c.chunk)):
        kept.setdefault((candidate.algorithm, candidate.params), candidate)
    return list(kept.values())


def climb(
    prices: Prices,
    spaces: list[Space],
    tried: dict[Candidate, Price],
    simulations: Simulations,
    top: int,
) -> None:
    """Simulates the best few by price, then steps from the best on while they help."""
    chunks = chunk_axis(prices.call.nbytes)
    by_name = {space.algorithm: space for space in spaces}
    order = by_price(tried)
    least = tried[order[0]].seconds
    near = [found.messages for found in tried.values() if found.seconds <= _NEARLY * least]
    most = max(_MANY_MESSAGES, 2 * min(near))

    def worth_it(candidate: Candidate) -> bool:
        found = tried[candidate]
        return found.seconds <= _SLACK * least and found.messages <= most

    simulations.run([c for c in order if worth_it(c)][:top])
    for _ in range(_ROUNDS):
        best = simulations.best()
        steps = prices.of(by_name[best.algorithm].beside(best, chunks))
        tried |= steps
        simulations.run(c for c in steps if worth_it(c) and not _same(best, c, tried))
        if simulations.best() == best:
            break


def _same(best: Candidate, other: Candidate, tried: dict[Candidate, Price]) -> bool:
    """Whether they differ only in chunks so long that these cut nothing."""
    alike = best.params == other.params and best.algorithm == other.algorithm
    return alike and tried[best].messages == tried[other].messages


def outcomes_of(
    tried: dict[Candidate, Price], simulated: dict[Candidate, float], top: int
) -> list[Outcome]:
    """The best, simulated ones first."""
    first = sorted(simulated, key=lambda c: simulated[c])
    order = list(dict.fromkeys([*first, *by_price(tried)]))[:top]
    return [Outcome(c.completed(tried[c].fitted), tried[c], simulated.get(c)) for c in order]
