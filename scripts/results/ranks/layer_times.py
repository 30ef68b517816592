"""When a model's layers are needed and ready, in steps without an exchange."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from exchanges import Steps
from one_rank import Rank, Row
from torch import nn

import weft


def layers(here: Rank) -> Row:
    """When layers begin forward, and when their gradients are there, in steps without an exchange.

    Rows of one step: name, bytes, seconds from the begin of the step to the layer's forward pass,
    and to its gradients; medians of all steps. `update` and `step`: seconds of these.
    """
    return _layers(here, lambda: None)


def beside(here: Rank) -> Row:
    """The same, while the wire is busy with what no step waits for."""
    stream = Stream()
    found = _layers(here, stream.go_on)
    stream.finish(max(here.gathered(stream.started)))
    return found


class Stream:
    """Allreduces that are always under way, for what the network takes from cores and memory."""

    PIECE = 32 << 20  # bytes
    PIECES = 8  # in turn: more than caches hold, as gradients are
    UNDER_WAY = 16  # more than 1 Gbit/s carries between two calls of `go_on`

    def __init__(self) -> None:
        self.started = 0
        self._comm = weft.Communicator.from_group()
        memory = torch.from_numpy(weft.empty(self.PIECES * self.PIECE, "uint8"))
        self._pieces = memory.view(torch.float32).zero_().chunk(self.PIECES)
        self._requests: list[weft.Request] = []

    def go_on(self) -> None:
        """To be called often. Raises if nothing was under way since the first call."""
        self._requests = [one for one in self._requests if not one.test()]
        if self.started and not self._requests:
            raise AssertionError("the wire was idle beside the computation")
        self._start(self.UNDER_WAY - len(self._requests))

    def finish(self, most: int) -> None:
        """As many as on every rank, then none. `most`: what the quickest rank has started."""
        self._start(most - self.started)
        for request in self._requests:
            request.wait()
        self._comm.close()

    def _start(self, count: int) -> None:
        for _ in range(count):
            piece = self._pieces[self.started % self.PIECES]
            self._requests.append(
                self._comm.allreduce(piece, "sum", out=piece, async_op=True, symmetric=True)
            )
            self.started += 1


def _layers(here: Rank, meanwhile: Callable[[], None]) -> Row:
    steps, (images, labels) = Steps(here.asked["model"], "none"), here.batch(here.rank)
    marks: Row = {}
    own = {
        n: m for n, m in steps.inner.named_modules() if next(m.parameters(False), None) is not None
    }
    for name, module in own.items():
        module.register_forward_pre_hook(_mark(marks, f"forward {name}", meanwhile))
        for parameter in module.parameters(recurse=False):
            parameter.register_post_accumulate_grad_hook(_mark(marks, f"ready {name}", meanwhile))
    seen: dict[str, list[float]] = {}
    for number in range(2 + here.asked["steps"] * here.asked["blocks"]):
        begin = time.perf_counter()
        nn.functional.cross_entropy(steps.net(images), labels).backward()
        middle = time.perf_counter()
        steps.optimizer.step()
        steps.optimizer.zero_grad()
        end = time.perf_counter()
        if number >= 2:
            times = {name: at - begin for name, at in marks.items()}
            for name, at in (times | {"update": end - middle, "step": end - begin}).items():
                seen.setdefault(name, []).append(at)
    middles = {name: sorted(found)[len(found) // 2] for name, found in seen.items()}
    table = [
        [name, sum(4 * p.numel() for p in module.parameters(recurse=False)),
         middles[f"forward {name}"], middles[f"ready {name}"]]
        for name, module in own.items()
    ]  # fmt: skip
    return {"layers": table, "update": middles["update"], "step": middles["step"]}


def _mark(marks: Row, name: str, meanwhile: Callable[[], None]) -> Callable[..., None]:
    def note(*_: Any) -> None:
        marks[name] = time.perf_counter()  # the last one counts
        meanwhile()

    return note
