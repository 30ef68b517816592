"""The communicators of a `GradientSync`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from weft.communicator import Communicator
from weft.errors import Aborted
from weft.request import Request
from weft.train.group import CommunicatorGroup, ProcessGroup
from weft.train.tracing.recorder import WAIT, active

PRIORITIES = 8
"""Lanes with priorities, at most. A bucket overtakes those of later lanes only, so where layers are
long each should have a lane."""


class Lanes:
    """Communicators of the same ranks, for gradients by priority and for words about them.

    They are new, so their collectives need no order among those of the user's groups. They end
    together: an error on one of them aborts all, so that a peer that waits on another one is told.

    Not thread safe.
    """

    def __init__(self, group: CommunicatorGroup | ProcessGroup, count: int) -> None:
        """Collective over `group`. The first of `count` lanes of gradients overtakes the rest."""
        if isinstance(group, CommunicatorGroup):
            made = _same_ranks(group.comm, group.comm.priority + count + 1)
        else:
            made = Communicator.from_group(group.group, priority=count + 1)
        # The words of a round are short, and the first layer's update needs them. With a group of
        # priority 0 all lanes have another one, and so short chunks.
        self.control = made
        self.data = [_same_ranks(made, made.priority - 1 - lane) for lane in range(count)]
        self.dead = ""
        """The first error; empty while all is well."""
        self.rank, self.size = self.control.rank, self.control.size
        self.crowded = self.control.crowded

    def start(
        self,
        call: Callable[..., Any],
        *args: Any,
        carries: Callable[[], dict[str, int]] | None = None,
        **options: Any,
    ) -> Request:
        """Starts a collective of one of the communicators.

        carries: says how many bytes of each layer are in it, if anybody records.
        """
        recorder, begin = active(), time.perf_counter_ns()
        request = self.guard(call, *args, async_op=True, **options)
        if recorder is not None:
            recorder.collective(call.__name__, request, begin, carries() if carries else {})
        return request

    def has_ended(self, request: Request | None) -> bool:
        """Whether `wait` would not wait; so it is of none."""
        return request is None or bool(request.test())

    def wait(self, request: Request) -> None:
        """Waits until `request` has finished."""
        recorder = active()
        if recorder is None or request.test():
            self.guard(request.wait)
            return
        begin = time.perf_counter_ns()
        self.guard(request.wait)
        recorder.span(WAIT, "wait", begin, time.perf_counter_ns())

    def guard(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Calls; if that raises, all communicators end with the error's text.

        Raises `Aborted` if an earlier call has raised.
        """
        if self.dead:
            raise Aborted(f"rank {self.rank}: GradientSync: it has ended: {self.dead}")
        try:
            return call(*args, **options)
        except BaseException as error:
            self.end(f"{type(error).__name__}: {error}")
            raise

    def end(self, why: str) -> None:
        """Ends what is under way here and on the peers, which see `Aborted` with `why`."""
        if self.dead:
            return
        self.dead = why
        for comm in [self.control, *self.data]:
            comm.abort(f"rank {self.rank}: {why}")

    def close(self) -> None:
        """Leaves. May be called again."""
        for comm in [*self.data, self.control]:
            comm.close()


def _same_ranks(comm: Communicator, priority: int) -> Communicator:
    made = comm.split(0, comm.rank, priority=priority)
    assert made is not None
    return made
