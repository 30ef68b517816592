"""Every rank gets the mean gradients of its shard, updates it, and sends it to all ranks.

    backward of layer    3   2   1 |            step()            | next forward   1   2   3
    reduce_scatter       3   2   1 |                              |
    update of the shard            |   3   2   1                  |
    allgather                      |     3   2   1 ..........     |   (1 may overtake 2 and 3)

The wire carries what an allreduce does, and the optimizer's state is divided by the ranks: stage 1
and 2 of Rajbhandari, Rasley, Ruwase, He, "ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models", a layer at a time. `step()` waits for the gradients, so that nothing that other
ranks need is left for later. The parameters travel under the next forward pass. Short buckets have
one allreduce, and every rank updates all of them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from weft.errors import InvalidArgument
from weft.request import Request
from weft.train.sync.lanes import Lanes
from weft.train.sync.layout import Bucket, Layout
from weft.train.sync.shard_state import gathered
from weft.train.sync.shards import Part, Shard, cut, make_shard
from weft.train.sync.strategy import Hyperparameters
from weft.train.sync.updates import Updates
from weft.train.sync.words import Words

_TOGETHER = 1 << 20
"""Bytes of shards that one call of the optimizer updates: long beside the call itself, short beside
their way to the other ranks, which begins after it."""


class Sharded:
    """`Strategy` "sharded"."""

    halfway = False

    def __init__(self, layout: Layout, lanes: Lanes, updates: Updates, words: Words) -> None:
        self._layout, self._lanes, self._updates, self._words = layout, lanes, updates, words
        self._shards: dict[Bucket, Shard] = {}
        self._reducing: dict[Bucket, Request] = {}
        self._gathering: dict[Bucket, Request] = {}
        self._state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for bucket in layout.buckets:
            if any(slot.parameter.requires_grad for slot in bucket.slots):
                self.prepare(bucket)
        self._mine = False
        optimizer = updates.optimizer
        self._guards = [
            optimizer.register_state_dict_pre_hook(lambda _: self._refuse_direct("state_dict")),
            optimizer.register_load_state_dict_pre_hook(
                lambda *_: self._refuse_direct("load_state_dict")
            ),
        ]

    def prepare(self, bucket: Bucket) -> None:
        bucket.place_gradients()
        if bucket not in self._shards:
            shard = make_shard(bucket, self._lanes.rank, self._lanes.size)
            self._shards[bucket] = shard
            state = self._updates.optimizer.state
            self._state.update(cut(state, shard.parts))
            for slot in bucket.slots:
                state.pop(slot.parameter, None)

    def start(self, bucket: Bucket) -> None:
        shard = self._shards[bucket]
        self._refuse_moved(shard)
        lane = self._lanes.data[bucket.lane]
        self._reducing[bucket] = self._lanes.start(
            lane.allreduce if shard.whole else lane.reduce_scatter,
            bucket.gradients,
            "avg",
            out=shard.gradient,
            symmetric=True,
            carries=bucket.layers,
        )

    def under_way(self, bucket: Bucket) -> bool:
        return bucket in self._reducing

    def settle(self, bucket: Bucket) -> None:
        if request := self._reducing.pop(bucket, None):
            self._lanes.wait(request)

    def begin_update(self, buckets: list[Bucket], values: Hyperparameters, later: bool) -> None:
        self._words.hear()
        rest = list(buckets)
        while rest:
            here = self._take_those_here(rest)
            self._update([self._shards[bucket] for bucket in here], values)
            for bucket in here:
                self._gather(bucket)
        if not later:
            for bucket in buckets:
                self.finish_update(bucket, values)

    def _take_those_here(self, rest: list[Bucket]) -> list[Bucket]:
        """The last bucket, which it waits for, and short ones before it that need no waiting."""
        taken = [rest.pop()]
        self.settle(taken[0])
        nbytes = self._shards[taken[0]].mine.nbytes
        while rest and self._lanes.has_ended(self._reducing.get(rest[-1])):
            nbytes += self._shards[rest[-1]].mine.nbytes
            if nbytes > _TOGETHER:
                break
            taken.append(rest.pop())
        return taken

    def _gather(self, bucket: Bucket) -> None:
        shard = self._shards[bucket]
        if shard.whole:
            return
        self._gathering[bucket] = self._lanes.start(
            self._lanes.data[bucket.lane].allgather,
            shard.mine,
            out=shard.parameters,
            symmetric=True,
            carries=bucket.layers,
        )

    def finish_update(self, bucket: Bucket, values: Hyperparameters) -> None:
        if request := self._gathering.pop(bucket, None):
            self._lanes.wait(request)

    def quiet(self) -> None:
        pass  # a collective that has ended reads nothing

    def norm(self, buckets: list[Bucket], norm_type: float) -> Any:
        import torch

        if not norm_type > 0:
            raise InvalidArgument(
                f"rank {self._lanes.rank}: clip_grad_norm_: norm_type is {norm_type}: "
                'strategy "sharded" has norms above 0, and infinity'
            )
        whole = np.isinf(norm_type)
        counted = [b for b in buckets if not self._shards[b].whole or self._lanes.rank == 0]
        mine = torch.nn.utils.get_total_norm([p.gradient for p in self._used(counted)], norm_type)
        part = mine.double() if whole else mine.double() ** norm_type
        total = self._lanes.control.allreduce(part.reshape(1), "max" if whole else "sum")[0]
        return (total if whole else total ** (1 / norm_type)).to(mine.dtype)

    def scale(self, buckets: list[Bucket], factor: Any) -> None:
        for part in self._used(buckets):
            part.gradient.mul_(factor)
        for bucket in buckets:  # what a further backward pass adds to
            bucket.gradients.mul_(factor)

    def state_dict(self) -> dict[str, Any]:
        self._mine = True
        try:
            whole = self._updates.optimizer.state_dict()
        finally:
            self._mine = False
        slots, parts = self._layout.slots, self._parts()
        whole["state"] = gathered(self._state, parts, slots, self._lanes, self._updates)
        return whole

    def load_state_dict(self, state: dict[str, Any]) -> None:
        optimizer = self._updates.optimizer
        self._mine = True
        try:
            optimizer.load_state_dict(state)
        finally:
            self._mine = False
        self._state = cut(optimizer.state, self._parts())
        for part in self._parts():
            optimizer.state.pop(part.slot.parameter, None)

    def close(self) -> None:
        """Gives the optimizer its whole state. Collective."""
        whole = self.state_dict()
        for guard in self._guards:
            guard.remove()
        self._updates.optimizer.load_state_dict(whole)

    def _update(self, shards: list[Shard], values: Hyperparameters) -> None:
        chosen: list[list[Any]] = [[] for _ in values]
        for shard in shards:
            self.settle(shard.bucket)
            if not shard.whole:
                shard.mine.copy_(shard.source)  # the user may have written parameters
            for part in shard.parts:
                if part.slot.used:
                    part.parameter.grad = part.gradient
                    chosen[part.slot.group].append(part.parameter)
        if any(chosen):
            self._updates.run(values, chosen, self._state)

    def _parts(self) -> list[Part]:
        return [part for shard in self._shards.values() for part in shard.parts]

    def _used(self, buckets: list[Bucket]) -> list[Part]:
        parts = [part for bucket in buckets for part in self._shards[bucket].parts]
        return [part for part in parts if part.slot.used]

    def _refuse_moved(self, shard: Shard) -> None:
        base, size = shard.parameters.data_ptr(), shard.bucket.dtype.itemsize
        for slot in shard.bucket.slots:
            if slot.count and slot.parameter.data_ptr() != base + slot.start * size:
                raise InvalidArgument(
                    f"rank {self._lanes.rank}: GradientSync: {slot.name} was moved out of the "
                    'memory of strategy "sharded": write its values in place (copy_), and convert '
                    "or move the model before making the GradientSync"
                )

    def _refuse_direct(self, method: str) -> None:
        if not self._mine:
            raise InvalidArgument(
                f"rank {self._lanes.rank}: optimizer.{method}(): the ranks have parts of its "
                f"state: call {method}() of the GradientSync, on all ranks"
            )
