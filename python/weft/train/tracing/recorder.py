"""What a timeline records: spans of time on the tracks of one rank."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from weft.request import Request

COMPUTE = "compute"
COMMUNICATION = "communication"
WAIT = "wait"
WORKER = "worker"
TRACKS = (COMPUTE, COMMUNICATION, WAIT, WORKER)


class Span(NamedTuple):
    """Something that took from `begin` to `end`, in nanoseconds of `time.perf_counter_ns()`."""

    track: str
    name: str
    begin: int
    end: int
    layers: dict[str, int]


class Recorder:
    """The spans of one rank while a timeline is open. Thread safe."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.steps = 0  # forward passes of a whole model
        self.thread = threading.get_ident()  # the program's
        self.resumed = 0  # when a wait or an update of the program's thread last ended
        self._pending: list[tuple[str, Request, int, dict[str, int]]] = []

    def span(
        self, track: str, name: str, begin: int, end: int, layers: dict[str, int] | None = None
    ) -> None:
        """Records one span.

        Args:
            track: COMPUTE: a layer's forward or backward pass, or an update. COMMUNICATION: a
                collective, from its start to its end; spans of this track may overlap. WAIT: the
                program's thread could not go on before a collective had ended. WORKER: another
                thread computed.
            name: what it was, as the picture shows it: "forward conv1", "allreduce fc6".
            begin: `time.perf_counter_ns()`.
            end: the same clock, at the end.
            layers: of a collective: the layers whose parameters it carries, and the bytes of each.
        """
        self.spans.append(Span(track, name, begin, end, layers or {}))
        own = threading.get_ident() == self.thread
        if own and (track == WAIT or name.startswith("update")):
            self.resumed = end

    def collective(self, name: str, request: Request, begin: int, layers: dict[str, int]) -> None:
        """Records an asynchronous collective of a communicator, which may still be under way."""
        request.note_end()
        self._pending.append((name, request, begin, layers))

    def settle(self) -> None:
        """Waits for the collectives that are under way. Raises what one failed with."""
        for name, request, begin, layers in self._pending:
            request.wait()
            while request.ended_ns == 0:  # the end is noted just after it
                time.sleep(0)
            self.span(COMMUNICATION, name, begin, request.ended_ns, layers)
        self._pending.clear()


_active: Recorder | None = None


def active() -> Recorder | None:
    """The recorder of the timeline that is open, or None. Costs one look at a variable."""
    return _active


def activate(recorder: Recorder | None) -> None:
    """Makes it the one that `active` returns. One timeline at a time is open in a process."""
    global _active
    _active = recorder
