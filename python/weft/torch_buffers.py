"""Training's own buffers in symmetric memory, which collectives copy once less.

DDP's buckets: torch's reducer asks its backend for their memory when `DDP_DISABLE_COMM_MEM` is 0.
FSDP2's all-gather and reduce-scatter buffers: `set_allocate_memory_from_process_group`, which
a parameter group whose backend is Weft is given when it is first used.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

__all__ = ["enable"]

_FSDP2 = "torch.distributed.fsdp._fully_shard._fsdp_param_group"
_DDP = "DDP_DISABLE_COMM_MEM"


@functools.cache
def enable() -> None:
    """For all models of this process. Does nothing where torch lacks what it builds on."""
    # The variable speaks to NCCL too, so where that may run only the user sets it.
    if not torch.cuda.is_available():
        os.environ.setdefault(_DDP, "0")
    if _FSDP2 in sys.modules:
        _prepare(sys.modules[_FSDP2])
    else:
        sys.meta_path.insert(0, _AfterImport())


class _AfterImport(importlib.abc.MetaPathFinder):
    """Prepares FSDP2 once somebody imports it: that takes long, and most programs never do."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _FSDP2:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _prepare(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _prepare(module: Any) -> None:
    """Lets each parameter group allocate from its process group, unless somebody has chosen."""
    try:
        group_class = module.FSDPParamGroup
        initialize = group_class.lazy_init
        defaults = (module.DefaultAllGather, module.DefaultReduceScatter)
        allocate_from_group = group_class.set_allocate_memory_from_process_group
    except AttributeError:  # another torch
        return

    @functools.wraps(initialize)
    def lazy_init(group: Any) -> None:
        initialize(group)
        chosen = (type(group._all_gather_comm), type(group._reduce_scatter_comm))
        if chosen == defaults and _is_weft(group):
            allocate_from_group(group, True)

    group_class.lazy_init = lazy_init


def _is_weft(group: Any) -> bool:
    ranks = getattr(group.mesh_info, "shard_process_group", None)  # none where it only replicates
    if ranks is None or group.device.type != "cpu":
        return False
    return ranks._get_backend(group.device).name() == "weft"
