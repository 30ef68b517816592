"""Pooled embeddings change from "my tables, all records" to "all tables, my records".

Two ranks, three tables, a minibatch of four records. Rank 0 owns tables 0 and 1.

    rank 0 has           rank 1 has        rank 0 gets           rank 1 gets
    table 0: a b c d     table 2: i j k l  table 0: a b          table 0: c d
    table 1: e f g h                       table 1: e f          table 1: g h
                                           table 2: i j          table 2: k l

Gradients take the way back. Both ways are asynchronous: the exchange starts before the bottom
perceptron runs and ends after it. Autograd runs later functions first, so in the backward pass the
gradients leave before the bottom perceptron's backward pass, and are waited for after it.

    forward    begin ──► bottom perceptron ──► complete ──► interaction
    backward   wait  ◄── bottom perceptron ◄── send back ◄── interaction
"""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.distributed as dist

from dlrm.stopwatch import Stopwatch
from dlrm.tables import Split


class Exchange:
    """How pooled embeddings travel. Makes a process group of its own, so it is collective.

    A way to exchange says what is sent (`pack`), what arrives (`room`), how it travels (`send` and
    `send_back`), and how it becomes a (records, tables, dimension) tensor (`unpack`).

    Not thread safe: one exchange at a time.
    """

    def __init__(self, split: Split, dimension: int, watch: Stopwatch, blocking: bool) -> None:
        """`blocking`: each exchange is waited for where it starts."""
        self.split, self.dimension = split, dimension
        self.watch, self.blocking = watch, blocking
        # A group of its own: an exchange then queues behind no allreduce of gradients.
        self.group = dist.new_group() if split.ranks > 1 else None
        self.widths = [len(tables) * dimension for tables in split.owned]
        self._way, self._since = "", 0.0
        self._works: list[dist.Work] = []
        self._held: tuple[Any, ...] = ()  # memory of what is under way
        self.sent_shapes: list[torch.Size] = []  # of the last forward pass
        self.sums: list[torch.Tensor] | None = None  # gradients that arrive in the backward pass

    def start(self, pooled: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Sends a (minibatch, dimension) tensor of each of my tables.

        The result is for `complete` only. Its memory is still being written.
        """
        if self.group is None:
            return tuple(pooled)
        return _Start.apply(self, *self.pack(pooled))

    def complete(self, arriving: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Waits. The (records, tables, dimension) tensor of this rank's records."""
        if self.group is None:
            return torch.stack(arriving, dim=1)
        return self.unpack(_Complete.apply(self, *arriving))

    def began(self, way: str, works: list[dist.Work], *held: Any) -> None:
        """`works` are under way, "forward" or "backward", and use `held`."""
        self._way, self._works, self._held = way, works, held
        if self.blocking:
            self._wait()
        self._since = time.perf_counter()

    def end(self) -> None:
        """Returns when everything under way has arrived. Notes what it could have hidden behind."""
        beside = time.perf_counter() - self._since
        self.watch.seconds[f"beside alltoall {self._way}"] += beside
        self._wait()

    def _wait(self) -> None:
        with self.watch.measure(f"alltoall {self._way}"):
            for work in self._works:
                work.wait()
        self._works, self._held = [], ()

    def pack(self, pooled: list[torch.Tensor]) -> list[torch.Tensor]:
        """What is sent: a record's embeddings lie side by side, so a rank's records are one run."""
        return [torch.cat(pooled, dim=1)]

    def room(self, sent: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
        """Memory for what arrives: (records, tables x dimension) from each rank."""
        records = len(sent[0]) // self.split.ranks
        return [sent[0].new_empty(records, width) for width in self.widths]

    def unpack(self, arrived: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Joins what the ranks sent."""
        return torch.cat([one.unflatten(1, (-1, self.dimension)) for one in arrived], dim=1)

    def send(self, sent: tuple[torch.Tensor, ...], arriving: list[torch.Tensor]) -> list[dist.Work]:
        """Starts the way of the embeddings."""
        raise NotImplementedError

    def send_back(self, grads: list[torch.Tensor], sums: list[torch.Tensor]) -> list[dist.Work]:
        """Starts the way back: from gradients of what arrived to gradients of what was sent."""
        raise NotImplementedError


class _Start(torch.autograd.Function):
    """Forward: starts the exchange. Backward: waits for the gradients."""

    @staticmethod
    def forward(ctx: Any, exchange: Exchange, *sent: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.exchange = exchange
        arriving = exchange.room(sent)
        exchange.sent_shapes = [one.shape for one in sent]
        exchange.began("forward", exchange.send(sent, arriving), sent)
        return tuple(arriving)

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        ctx.exchange.end()
        sums, ctx.exchange.sums = ctx.exchange.sums, None
        return (None, *sums)


class _Complete(torch.autograd.Function):
    """Forward: waits for the embeddings. Backward: starts the exchange of gradients."""

    @staticmethod
    def forward(ctx: Any, exchange: Exchange, *arriving: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.exchange = exchange
        exchange.end()
        return arriving

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        exchange = ctx.exchange
        grads = [one.contiguous() for one in grads]
        exchange.sums = [grads[0].new_empty(shape) for shape in exchange.sent_shapes]
        exchange.began("backward", exchange.send_back(grads, exchange.sums), grads)
        return (None, *grads)  # nobody reads them: _Start.backward returns exchange.sums
