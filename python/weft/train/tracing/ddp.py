"""Records what DistributedDataParallel exchanges on Weft: its buckets, and its wait for them."""

from __future__ import annotations

import time
from typing import Any

import torch

from weft.errors import Unsupported
from weft.train.tracing.recorder import COMMUNICATION, WAIT, Recorder, active

_hooked: dict[str, Any] = {}  # groups whose completion hook is this module's, by name


class DdpHooks:
    """The collectives of process groups on Weft, and the waits at the end of backward passes.

    Args:
        recorder: where spans go.
    """

    def __init__(self, recorder: Recorder) -> None:
        """Adds nothing yet."""
        self._recorder = recorder
        self._groups: dict[str, Any] = {}
        self._model: Any = None
        self._backwards: list[tuple[int, int, Any]] = []  # begin, end, model

    def entered(self, model: Any) -> None:
        """A forward pass begins."""
        wrapped = isinstance(model, torch.nn.parallel.DistributedDataParallel)
        self._model = model if wrapped else None
        if wrapped:
            self.watch(model.process_group)

    def watch(self, group: Any) -> None:
        """Records the group's collectives from now on."""
        if group.group_name not in self._groups:
            _hook(group)
            self._groups[group.group_name] = group

    def backward(self, ended: Any) -> None:
        """In the backward pass, as it begins. Calls `ended` when all its nodes have run.

        Callbacks run in the order in which they were queued, after the last node. DDP queues
        its own, which waits for all buckets, later than this one.
        """
        model, engine = self._model, torch.autograd.Variable._execution_engine
        begin = time.perf_counter_ns()

        def computed() -> None:
            ended()
            if model is None or not model.require_backward_grad_sync:
                return
            waits = time.perf_counter_ns()
            engine.queue_callback(lambda: exchanged(waits))

        def exchanged(waits: int) -> None:
            now = time.perf_counter_ns()
            self._recorder.span(WAIT, "all buckets", waits, now)
            self._backwards.append((begin, now, model))

        engine.queue_callback(computed)

    def finish(self) -> None:
        """Waits until the ends of all collectives are known, and names buckets by their layers."""
        for group in self._groups.values():
            group._wait_for_pending_works()
        spans = self._recorder.spans
        for begin, end, model in self._backwards:
            sent = [
                index
                for index, span in enumerate(spans)
                if span.name == "allreduce" and begin <= span.begin <= end
            ]
            sent.sort(key=lambda index: spans[index].begin)
            buckets = _buckets(model)
            if len(buckets) != len(sent):
                continue  # before DDP has rebuilt its buckets, or collectives of the program's own
            for number, (index, layers) in enumerate(zip(sent, buckets, strict=True)):
                spans[index] = spans[index]._replace(name=f"bucket {number}", layers=layers)


def _hook(group: Any) -> None:
    """Makes `_completed` the group's completion hook. It stays: torch removes none."""
    if _hooked.get(group.group_name) is group:
        return
    backend = group._get_backend(torch.device("cpu")).name()
    if backend != "weft":
        raise Unsupported(
            f"weft.train.timeline: the CPU backend of group {group.group_name!r} is {backend}: it "
            'tells nothing of its collectives; use init_process_group("weft")'
        )
    if group._has_hooks():
        raise Unsupported(
            f"weft.train.timeline: group {group.group_name!r} has a completion hook already, and "
            "a group has one: leave that away while a timeline is recorded"
        )
    group._register_on_completion_hook(_completed)
    _hooked[group.group_name] = group


def _completed(info: Any) -> None:
    recorder = active()
    if recorder is not None:
        # Both are on the monotonic clock, which is time.perf_counter_ns(), too.
        begin, end = (
            round(one.total_seconds() * 1e6) * 1000
            for one in (info.time_started, info.time_finished)
        )
        name = str(info.op_type).rsplit(".", 1)[-1].lower()
        recorder.span(COMMUNICATION, name, begin, end)


def _buckets(model: Any) -> list[dict[str, int]]:
    """The layers of each of DDP's buckets with their bytes, in the order of sending."""
    text = model._get_ddp_logging_data().get("rebuilt_per_bucket_param_indices", "")
    named = [(name, p) for name, p in model.module.named_parameters() if p.requires_grad]
    found = []
    for bucket in text.split(","):
        layers: dict[str, int] = {}
        for index in map(int, bucket.split()):
            name, parameter = named[index]
            layer = name.rpartition(".")[0] or name
            layers[layer] = layers.get(layer, 0) + parameter.numel() * parameter.itemsize
        if layers:
            found.append(layers)
    return found
