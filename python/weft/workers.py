"""The thread that carries on asynchronous calls: whether there is one, and where it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from weft import _core
from weft.arguments import whole
from weft.errors import InvalidArgument

_MOST_PROCESSORS = 2**16


@dataclass(frozen=True)
class Workers:
    """For `weft.init(workers=...)`. The communicators of a process on one fabric share one worker.

    The first of them says what it is like; a later one that asks for another raises
    `InvalidArgument`. "auto" and None: what the environment says, else as below. `weft info` shows
    where the worker of this process would run, and why.

    Attributes:
        count: 1, or 0 for no worker. Without one only threads inside a call of Weft carry on
            asynchronous calls: blocking calls, `Request.wait` and `Request.test`. A call may then
            finish late. A future of torch or a put from another node does not end by itself. By
            default WEFT_WORKERS, else 1.
        cores: the processors that the worker may run on, all of this process's affinity mask. By
            default WEFT_WORKER_CORES, else those of this rank's share of the mask that compute
            threads leave free. Ranks with the same mask divide it evenly. Compute threads are as
            many as `torch.get_num_threads()` says if torch is imported, else OMP_NUM_THREADS, else
            one on each processor. They count as running on the first processors of the share. If
            they leave no core free, the worker is not bound.
        priority: the nice value of the thread, from -20 (first) to 19. A value below the process's
            own needs a privilege. By default WEFT_WORKER_NICE, else the process's own.
    """

    count: int | str = "auto"
    cores: Iterable[int] | str = "auto"
    priority: int | None = None


def options_of(workers: Workers | None, who: str) -> _core.WorkerOptions:
    """As the core takes them."""
    if workers is None:
        workers = Workers()
    if not isinstance(workers, Workers):
        raise InvalidArgument(f"{who}: workers is {workers!r}: give weft.Workers(...)")
    count = None if _is_auto(workers.count) else whole(workers.count, f"{who}: workers: count", 0)
    nice = workers.priority
    if nice is not None:
        nice = whole(nice, f"{who}: workers: priority", -20, 19)
    return _core.WorkerOptions(count, _cores(workers.cores, who), nice, _compute_threads())


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _cores(cores: Any, who: str) -> list[int] | None:
    if _is_auto(cores):
        return None
    if isinstance(cores, (str, bytes)) or not isinstance(cores, Iterable):
        raise InvalidArgument(
            f'{who}: workers: cores is {cores!r}: give a list of processors, or "auto"'
        )
    known = [
        whole(core, f"{who}: workers: cores[{i}]", 0, _MOST_PROCESSORS - 1)
        for i, core in enumerate(cores)
    ]
    return sorted(set(known))


def _compute_threads() -> int | None:
    torch = sys.modules.get("torch")
    return torch.get_num_threads() if torch else None
