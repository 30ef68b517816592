"""The thread of a rank that moves gradients up and models down.

It does one thing: wait for a signal of the window, and do what that allows. A piece goes up as soon
as this rank and all its children have it. The master updates a piece as soon as its sum is there
and the program has called step(), and sends it down. So the same layer goes up and comes down at
once. There is no barrier.

No acknowledgements are sent, since each is implied. A new model of a piece is made from the
gradients that all ranks have of it. When it arrives somewhere, this is known of every rank:

- Its gradients of the piece's bucket were complete: it hands over whole buckets. Its backward pass
  was done with the bucket's parameters, so the new ones may overwrite them.
- Its gradients of the piece have been added by its parent: they may be overwritten, and so may its
  inbox there.
- It has the last model of the piece, which its forward pass waited for. All puts of that model have
  arrived, and their sources may be overwritten.

A rank that computes several gradients before a step has no new model between them. It waits until
its puts are done, and a barrier says that all sums are (tree.py).
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakSet

from weft.errors import Timeout, WeftError
from weft.train.sync.layout import Bucket
from weft.train.sync.tree_memory import Memory, Piece, Places
from weft.train.sync.tree_updates import Unit
from weft.train.tracing.recorder import COMMUNICATION, active
from weft.window import Window

_running: WeakSet[TreeWorker] = WeakSet()


@atexit.register
def _stop_all() -> None:
    """A thread must not come back into an interpreter that has ended."""
    for worker in list(_running):
        worker.stop()


@dataclass
class Progress:
    """Of one piece."""

    memory: Memory
    unit: Unit
    own: bool = False
    """Whether this rank's gradients of the round are there."""
    arrived: set[int] = field(default_factory=set)
    added: int = 0
    """Children whose gradients are added, in their order: so sums have the same bits each time."""
    summed: int = 0
    """The last round whose sum was complete here."""
    updated: int = 0
    """The last round that the master took a step with."""


class TreeWorker:
    """Drives one rank's part of the trees. Its methods are the program's side; thread safe."""

    def __init__(
        self,
        window: Window,
        places: Places,
        parents: Places | None,
        receivers: dict[int, Places],
        units: list[Unit],
        update: Callable[[Unit, Any], None],
        guard: Callable[[Callable[[], None]], None],
    ) -> None:
        """parents: the parent's places; None: this rank is the master.

        units: all pieces. update: takes the master's step on a unit with what `allow` was given.
        guard: runs the thread's loop, and tells everybody if it raises.
        """
        self._window, self._places = window, places
        self._parents, self._receivers = parents, receivers
        self._update = update
        self._progress = {
            piece: Progress(Memory(window, places, piece), unit) for unit in units for piece in unit
        }
        self._todo = {bucket: len(places.of_bucket[bucket]) for bucket in places.buckets}
        self._coming = dict(self._todo)
        self._rounds = dict.fromkeys(places.buckets, 0)
        self._allowed: dict[Bucket, tuple[int, Any]] = {}
        self._orders: deque[dict[Bucket, tuple[int, Any]] | None] = deque()
        self._begun: dict[Bucket, int] = {}
        self._guard = guard
        self._thread = threading.Thread(target=self._live, name="weft-tree", daemon=True)
        _running.add(self)

    def begin(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def hand_over(self, bucket: Bucket) -> None:
        """This rank's gradients of the bucket are complete. At the master they become the sum."""
        self._begun[bucket] = time.perf_counter_ns()
        self._window.signal(self._window.rank, self._places.ready(bucket))

    def allow(self, values: dict[Bucket, tuple[int, Any]]) -> None:
        """Only at the master: steps that pieces take once a round's sums are there.

        values: by bucket the number of the round, and what `update` gets.
        """
        self._order(values)

    def stop(self) -> None:
        """Ends the thread. May be called again."""
        if self._thread.is_alive():
            with contextlib.suppress(WeftError):  # the thread ends by the same error
                self._order(None)
            self._thread.join()

    def _live(self) -> None:
        # The guard has told everybody, this rank's program too: it waits for what never comes.
        with contextlib.suppress(Exception):
            self._guard(self._run)

    def _order(self, order: dict[Bucket, tuple[int, Any]] | None) -> None:
        self._orders.append(order)
        self._window.signal(self._window.rank, Places.WAKE)

    def _run(self) -> None:
        handlers = self._handlers()
        while True:
            try:
                signal = self._window.wait_some(0, self._places.awaited)
            except Timeout:
                continue  # the program does something else: nothing is due
            self._window.fetch_reset(signal)
            if signal != Places.WAKE:
                handlers[signal]()
                continue
            while self._orders:
                order = self._orders.popleft()
                if order is None:
                    return
                self._allowed.update(order)
                for bucket in order:
                    for piece in self._places.of_bucket[bucket]:
                        self._update_if_due(self._progress[piece].unit)

    def _handlers(self) -> dict[int, Callable[[], None]]:
        places = self._places
        made: dict[int, Callable[[], None]] = {}
        for bucket in places.buckets:
            made[places.ready(bucket)] = partial(self._own_is_ready, bucket)
        for piece in places.pieces:
            made[places.model(piece)] = partial(self._model_came, piece)
            for child in places.children:
                made[places.gradient(child, piece)] = partial(self._gradient_came, piece, child)
        return made

    def _own_is_ready(self, bucket: Bucket) -> None:
        for piece in self._places.of_bucket[bucket]:
            self._progress[piece].own = True
            self._add(piece)

    def _gradient_came(self, piece: Piece, child: int) -> None:
        self._progress[piece].arrived.add(child)
        self._add(piece)

    def _add(self, piece: Piece) -> None:
        """Adds what is there, and sends the sum on once it is whole."""
        now, children = self._progress[piece], self._places.children
        if not now.own:
            return
        while now.added < len(children) and children[now.added] in now.arrived:
            now.memory.gradients.add_(now.memory.inboxes[now.added])
            now.added += 1
        if now.added == len(children):
            self._sum_is_whole(piece, now)

    def _sum_is_whole(self, piece: Piece, now: Progress) -> None:
        now.own, now.added = False, 0
        now.arrived.clear()
        now.summed += 1
        if self._parents is not None:
            assert self._places.parent is not None
            self._window.put(
                now.memory.gradient_bytes,
                self._places.parent,
                self._parents.inbox(self._window.rank, piece),
                signal=self._parents.gradient(self._window.rank, piece),
            )
        self._todo[piece.bucket] -= 1
        if self._todo[piece.bucket] == 0:
            self._todo[piece.bucket] = len(self._places.of_bucket[piece.bucket])
            self._rounds[piece.bucket] += 1
            self._tell(self._places.handed_over(piece.bucket), piece.bucket)
        self._update_if_due(now.unit)

    def _update_if_due(self, unit: Unit) -> None:
        number, values = self._allowed.get(unit[0].bucket, (0, None))
        every = [self._progress[piece] for piece in unit]
        if every[0].updated == number or any(one.summed < number for one in every):
            return
        self._update(unit, values)
        for piece, one in zip(unit, every, strict=True):
            one.updated = number
            self._model_came(piece)

    def _model_came(self, piece: Piece) -> None:
        """From the parent, or from the step at the master."""
        for receiver, theirs in self._receivers.items():
            self._window.put(
                self._progress[piece].memory.parameter_bytes,
                receiver,
                piece.offset,
                signal=theirs.model(piece),
            )
        self._coming[piece.bucket] -= 1
        if self._coming[piece.bucket] == 0:
            self._coming[piece.bucket] = len(self._places.of_bucket[piece.bucket])
            self._end(piece.bucket)

    def _end(self, bucket: Bucket) -> None:
        """The bucket's parameters are those of the next iteration."""
        recorder = active()
        if recorder is not None:
            now = time.perf_counter_ns()
            recorder.span(COMMUNICATION, "tree", self._begun[bucket], now, bucket.layers())
        self._tell(self._places.up_to_date(bucket), bucket)

    def _tell(self, signal: int, bucket: Bucket) -> None:
        self._window.signal(self._window.rank, signal, self._rounds[bucket])
