"""Records a timeline and writes it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.errors import InvalidArgument
from weft.train.group import exchange, group_of
from weft.train.tracing.clocks import Clock, read_clocks, to_first
from weft.train.tracing.recorder import Recorder, activate, active
from weft.train.tracing.trace import RankTrace, write_trace

_WHO = "weft.train.timeline"


@contextlib.contextmanager
def timeline(path: str | Path, *, group: Any = None) -> Iterator[Recorder]:
    """Records the training steps inside of the block, and writes them as a trace. Collective.

    The trace is JSON that ui.perfetto.dev and chrome://tracing show. Each rank has four tracks.
    *compute*: forward and backward pass of each layer, updates of optimizers. *communication*:
    each collective, with its layers and their bytes. *wait*: the program's thread was blocked by a
    collective. *worker*: what another thread computed. `weft timeline FILE` draws the trace, and
    says of each layer how much of its communication was exposed and how much was hidden.

    It works with DistributedDataParallel on Weft and with `weft.train.GradientSync`, without a
    change to the program. DDP makes its final buckets after its first step, so do one before. With
    strategy "tree" call `finish()` of the GradientSync in the block: an exchange that ends later is
    not in the trace. Hooks cost some microseconds a layer. A process group keeps its completion
    hook after the block.

        with weft.train.timeline("step.json"):
            for images, labels in batches:
                loss(model(images), labels).backward()
                optimizer.step()
                optimizer.zero_grad()

    Times are those of rank 0's clock. Ranks on one kernel share a clock. The offset of another
    host's clock is measured before and after the block; the trace has a bound of its error.

    Args:
        path: where rank 0 writes the trace. Other ranks do not use it.
        group: a `weft.Communicator`, or a process group of torch. None: torch's default process
            group, or this process alone if there is none.

    Yields:
        The recorder, to add spans of one's own.

    Raises:
        InvalidArgument: a timeline is already open in this process; there is no such group.
        Unsupported: a group of DDP is not on Weft, or has a completion hook already.

        If the block raises, nothing is written.

    Not thread safe: one timeline at a time in a process.
    """
    if active() is not None:
        raise InvalidArgument(f"{_WHO}: a timeline is open already: close it first")
    ranks = None if _alone(group) else group_of(group, _WHO)
    before = read_clocks(ranks) if ranks else [Clock(0, 0, 0)]
    recorder = Recorder()
    with contextlib.ExitStack() as closing:
        finish = _hooks(recorder, closing)
        activate(recorder)
        closing.callback(activate, None)
        yield recorder
        finish()
        recorder.settle()
    after = read_clocks(ranks) if ranks else before
    mine = {"steps": recorder.steps, "spans": [list(span) for span in recorder.spans]}
    every = exchange(ranks, mine) if ranks else [mine]
    if ranks is None or ranks.rank == 0:
        write_trace(path, [_aligned(*one) for one in zip(every, before, after, strict=True)])


def _alone(group: Any) -> bool:
    dist: Any = sys.modules.get("torch.distributed")
    return group is None and not (dist and dist.is_available() and dist.is_initialized())


def _hooks(recorder: Recorder, closing: contextlib.ExitStack) -> Any:
    """Torch's hooks, where torch is in use. Returns what to call when the last step is done."""
    if "torch" not in sys.modules:
        return lambda: None
    from weft.train.tracing.ddp import DdpHooks
    from weft.train.tracing.modules import ModuleHooks

    ddp = DdpHooks(recorder)
    modules = ModuleHooks(recorder, ddp.entered, lambda: ddp.backward(modules.end_backward))
    closing.callback(modules.remove)
    return ddp.finish


def _aligned(said: dict[str, Any], start: Clock, end: Clock) -> RankTrace:
    spans = [
        (track, name, to_first(begin, start, end), to_first(finish, start, end), layers)
        for track, name, begin, finish, layers in said["spans"]
    ]
    return RankTrace(said["steps"], max(start.error, end.error), spans)
