"""What goes from one rank to another: of the pieces that wait, the first of the model first."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable

UNDER_WAY = 4
"""Pieces that were put and not yet taken, at most. Enough that the wire is never idle while the
word of one comes back; few, since nothing overtakes them."""


class Outbox:
    """The pieces for one peer. A piece that is needed sooner overtakes all that still wait here.

    The backward pass ends with the first layers, which the next forward pass needs first. Not
    thread safe.
    """

    def __init__(self, most: int | None) -> None:
        """most: how many pieces are under way at a time. None: all, in the order of `add`."""
        self._most = most
        self._waiting: list[tuple[int, Callable[[], None], Callable[[], None]]] = []
        self._under_way: deque[Callable[[], None]] = deque()

    def add(self, number: int, put: Callable[[], None], taken: Callable[[], None]) -> None:
        """Puts a piece, at once or later.

        number: the piece's. put: sends it. taken: called once the peer has taken it.
        """
        heapq.heappush(self._waiting, (number, put, taken))
        self._go_on()

    def note_taken(self, count: int) -> None:
        """The peer has taken so many further pieces.

        It may have taken them in another order than they were put. They arrived in that order, so
        all that were put before one of them have arrived with it.
        """
        for _ in range(count):
            self._under_way.popleft()()
        self._go_on()

    def hurry(self) -> None:
        """Puts all that waits, and all that comes from now on."""
        self._most = None
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and (self._most is None or len(self._under_way) < self._most):
            _, put, taken = heapq.heappop(self._waiting)
            self._under_way.append(taken)
            put()
