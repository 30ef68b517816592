"""Finds the candidates that are worth a simulation, by price, from coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from weft._core import Price
from weft.cost import price
from weft.errors import InvalidArgument
from weft.searching.call import Call
from weft.searching.space import Axis, Candidate, Space, chunk_axis

# How many candidates are followed at a time, in all and of one algorithm.
_BEAM, _OF_EACH = 6, 2
_ROUNDS = 12
# Pricing this many messages takes some ten seconds.
_MOST_MESSAGES = 10_000_000

Heard = Callable[[int, Price], None]


class Prices:
    """Prices of candidates for one call: each computed once, several at a time.

    Threads are enough: pricing does not hold the GIL.
    """

    def __init__(self, call: Call, jobs: int, heard: Heard) -> None:
        self.call, self._heard = call, heard
        self._pool = ThreadPoolExecutor(jobs)
        self._known: dict[Candidate, Price | None] = {}
        self._best: Price | None = None

    def __enter__(self) -> Prices:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, candidates: Iterable[Candidate]) -> dict[Candidate, Price]:
        """Of candidates that support the call, with the chunks that slots have room for.

        Chunk 0: messages whole, however long.
        """
        asked = list(dict.fromkeys(candidates))
        new = [c for c in asked if c not in self._known]
        for candidate, found in zip(new, self._pool.map(self._one, new), strict=True):
            self._known[candidate] = found
            if found and (not self._best or found.seconds < self._best.seconds):
                self._best = found
            if self._best:
                self._heard(len(self._known), self._best)
        priced = ((c, self._known[c]) for c in asked)
        return {_as_cut(c, found): found for c, found in priced if found is not None}

    def _one(self, candidate: Candidate) -> Price | None:
        call, whole = self.call, candidate.chunk == 0
        try:
            return price(
                candidate.algorithm, call.topology, nbytes=call.nbytes, ranks=call.ranks,
                params=candidate.values(), chunk=call.nbytes if whole else candidate.chunk,
                dtype=call.dtype, slot_bytes=0 if whole else call.slot_bytes,
            )  # fmt: skip
        except InvalidArgument:  # refused: this number of ranks, or parameters that contradict each
            # other
            return None


def _as_cut(candidate: Candidate, found: Price) -> Candidate:
    return candidate if candidate.chunk == 0 else candidate.having("chunk", found.chunk)


def explore(prices: Prices, spaces: Sequence[Space]) -> dict[Candidate, Price]:
    """Prices of all candidates, as a communicator would run them."""
    whole = prices.of(c for space in spaces for c in space.coarse())
    if not whole:
        return {}
    chunks = chunk_axis(prices.call.nbytes)
    by_name = {space.algorithm: space for space in spaces}
    tried: dict[Candidate, Price] = {}
    front = _promising(whole)
    tried |= prices.of(c.having("chunk", chunk) for c in front for chunk in chunks.coarse)
    for _ in range(_ROUNDS):
        known = len(tried)
        steps = (c for best in _leading(tried) for c in _steps(by_name, best, chunks))
        tried |= prices.of(steps)
        if len(tried) == known:
            break
    return tried


def _steps(by_name: dict[str, Space], candidate: Candidate, chunks: Axis) -> Iterable[Candidate]:
    return by_name[candidate.algorithm].beside(candidate, chunks)


def _promising(whole: dict[Candidate, Price]) -> list[Candidate]:
    """Candidates that another chunk may make the best: their busiest link is fast enough."""
    limit = min(found.seconds for found in whole.values())
    order = sorted(whole, key=lambda c: whole[c].seconds)
    kept: list[Candidate] = []
    for number, candidate in enumerate(order):
        found = whole[candidate]
        of_this = sum(c.algorithm == candidate.algorithm for c in kept)
        few = found.messages + found.bytes / 65536 <= _MOST_MESSAGES
        if found.busy <= limit and few and (number < _BEAM or of_this < _OF_EACH):
            kept.append(candidate)
    return kept


def _leading(tried: dict[Candidate, Price]) -> list[Candidate]:
    return sorted(tried, key=lambda c: tried[c].seconds)[:_BEAM]
