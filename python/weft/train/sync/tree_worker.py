"""The thread of a rank that moves gradients up and models down.

It does one thing: wait for a signal of the window, and do what that allows. A piece goes up as soon
as this rank and all its children have it. The master updates a piece as soon as its sum is there
and the program has called step(), and sends it down. So the same layer goes up and comes down at
once. There is no barrier.

A peer says when it has taken a piece, so that few are under way and the next one is chosen late
(tree_outbox.py). Between two steps nothing else has to be known before memory is written again. A
new model of a piece is made from the gradients that all ranks have of it. When it arrives
somewhere, this is known of every rank:

- Its gradients of the piece's bucket were complete: it hands over whole buckets. Its backward pass
  was done with the bucket's parameters, so the new ones may overwrite them.
- Its gradients of the piece have been added by its parent: they may be overwritten, and so may its
  inbox there.
- It has the last model of the piece, which its forward pass waited for. All puts of that model have
  arrived, and their sources may be overwritten.

A rank that computes several gradients before a step has no new model between them. It waits until
its parent has taken them, and a barrier says that all sums are done (tree.py). A program that
writes parameters itself first waits until all receivers have them.
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
from weft.train.sync.tree_outbox import Outbox
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
        peers: dict[int, Places],
        units: list[Unit],
        under_way: int | None,
        update: Callable[[Unit, Any], None],
        guard: Callable[[Callable[[], None]], None],
    ) -> None:
        """peers: the places of all ranks that this one sends to or gets from.

        units: all pieces. under_way: of them, on their way to a peer at a time; None: all. update:
        takes the master's step on a unit with what `allow` was given. guard: runs the thread's
        loop, and tells everybody if it raises.
        """
        self._window, self._places, self._peers = window, places, peers
        self._outboxes = {target: Outbox(under_way) for target in places.targets}
        self._update = update
        self._progress = {
            piece: Progress(Memory(window, places, piece), unit) for unit in units for piece in unit
        }
        self._going_up = {bucket: len(places.of_bucket[bucket]) for bucket in places.buckets}
        self._coming = dict(self._going_up)
        receivers = len(places.shape.receivers)
        self._leaving = {bucket: receivers * count for bucket, count in self._going_up.items()}
        self._to_leave = dict(self._leaving)
        self._sums = dict.fromkeys(places.buckets, 0)
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
            count = self._window.fetch_reset(signal)
            if signal != Places.WAKE:
                handlers[signal](count)
                continue
            while self._orders:
                order = self._orders.popleft()
                if order is None:
                    # What waits goes out as others go on without this thread.
                    for outbox in self._outboxes.values():
                        outbox.hurry()
                    return
                self._allowed.update(order)
                for bucket in order:
                    for piece in self._places.of_bucket[bucket]:
                        self._update_if_due(self._progress[piece].unit)

    def _handlers(self) -> dict[int, Callable[[int], None]]:
        places = self._places
        made: dict[int, Callable[[int], None]] = {}
        for place, target in enumerate(places.targets):
            made[places.taken(place)] = self._outboxes[target].note_taken
        for bucket in places.buckets:
            made[places.ready(bucket)] = partial(self._own_is_ready, bucket)
        for piece in places.pieces:
            made[places.model(piece)] = partial(self._model_came, piece)
            for child in places.shape.children:
                made[places.gradient(child, piece)] = partial(self._gradient_came, piece, child)
        return made

    def _own_is_ready(self, bucket: Bucket, _: int) -> None:
        for piece in self._places.of_bucket[bucket]:
            self._progress[piece].own = True
            self._add(piece)

    def _gradient_came(self, piece: Piece, child: int, _: int) -> None:
        self._say_taken(child)
        self._progress[piece].arrived.add(child)
        self._add(piece)

    def _say_taken(self, sender: int) -> None:
        theirs = self._peers[sender]
        signal = theirs.taken(theirs.targets.index(self._window.rank))
        self._window.signal(sender, signal, 1, "add")

    def _add(self, piece: Piece) -> None:
        """Adds what is there, and sends the sum on once it is whole."""
        now, children = self._progress[piece], self._places.shape.children
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
        parent, up = self._places.shape.parent, partial(self._is_up, piece)
        if parent is None:
            up()
        else:
            theirs = self._peers[parent]
            inbox, signal = (of(self._window.rank, piece) for of in (theirs.inbox, theirs.gradient))
            self._send(parent, piece, now.memory.gradient_bytes, inbox, signal, up)
        self._update_if_due(now.unit)

    def _send(
        self, target: int, piece: Piece, data: Any, offset: int, signal: int,
        taken: Callable[[], None],
    ) -> None:  # fmt: skip
        put = partial(self._window.put, data, target, offset, signal=signal)
        self._outboxes[target].add(piece.number, put, taken)

    def _is_up(self, piece: Piece) -> None:
        """This rank's part in the sum is done."""
        self._going_up[piece.bucket] -= 1
        if self._going_up[piece.bucket] == 0:
            self._going_up[piece.bucket] = len(self._places.of_bucket[piece.bucket])
            self._sums[piece.bucket] += 1
            self._tell(self._places.handed_over(piece.bucket), self._sums[piece.bucket])

    def _update_if_due(self, unit: Unit) -> None:
        number, values = self._allowed.get(unit[0].bucket, (0, None))
        every = [self._progress[piece] for piece in unit]
        if every[0].updated == number or any(one.summed < number for one in every):
            return
        self._update(unit, values)
        for piece, one in zip(unit, every, strict=True):
            one.updated = number
            self._send_model(piece, one)

    def _model_came(self, piece: Piece, _: int) -> None:
        sender = self._places.shape.sender
        assert sender is not None
        self._say_taken(sender)
        self._send_model(piece, self._progress[piece])

    def _send_model(self, piece: Piece, now: Progress) -> None:
        """The new parameters of the piece are in place here."""
        for receiver in self._places.shape.receivers:
            signal, data = self._peers[receiver].model(piece), now.memory.parameter_bytes
            passed_on = partial(self._is_passed_on, piece.bucket, now.summed)
            self._send(receiver, piece, data, piece.offset, signal, passed_on)
        self._coming[piece.bucket] -= 1
        if self._coming[piece.bucket] == 0:
            self._coming[piece.bucket] = len(self._places.of_bucket[piece.bucket])
            self._end(piece.bucket, now.summed)

    def _end(self, bucket: Bucket, number: int) -> None:
        """The bucket's parameters are those of the next iteration."""
        recorder = active()
        if recorder is not None:
            now = time.perf_counter_ns()
            recorder.span(COMMUNICATION, "tree", self._begun[bucket], now, bucket.layers())
        self._tell(self._places.up_to_date(bucket), number)
        if not self._places.shape.receivers:
            self._tell(self._places.passed_on(bucket), number)

    def _is_passed_on(self, bucket: Bucket, number: int) -> None:
        """A receiver has a piece of the model."""
        self._to_leave[bucket] -= 1
        if self._to_leave[bucket] == 0:
            self._to_leave[bucket] = self._leaving[bucket]
            self._tell(self._places.passed_on(bucket), number)

    def _tell(self, signal: int, number: int) -> None:
        self._window.signal(self._window.rank, signal, number)
