"""Weft: collectives as proved plans.

    import numpy as np, weft

    with weft.init() as comm:            # under torchrun, srun or mpirun
        total = comm.allreduce(np.ones(4))

`weft.Communicator` documents the calls, `weft.Window` one-sided ones, `weft.errors` what they
raise, `weft.plan` how to write and prove an algorithm of one's own, `weft.topology` clusters,
`weft.price` what a plan costs on one and `weft.simulate` what it takes in SimGrid. `weft.steps`
simulates whole steps of training. `weft.train` has what training needs beside them, `weft.optim`
optimizers.
With PyTorch, `torch.distributed.init_process_group("weft")` needs no import.
"""

import importlib
from typing import TYPE_CHECKING, Any

from weft._build_info import VERSION as __version__

if TYPE_CHECKING:
    from weft.arrays import empty, is_symmetric
    from weft.communicator import ANY_SOURCE, Communicator
    from weft.cost import fit, price
    from weft.environment import launch_environment
    from weft.errors import (
        Aborted,
        InternalError,
        InvalidArgument,
        InvalidPlan,
        Mismatch,
        PeerLost,
        Timeout,
        UnknownVariable,
        Unsupported,
        WeftError,
    )
    from weft.join import init
    from weft.plan import algorithm
    from weft.request import Request
    from weft.searching import search
    from weft.simulation import simulate
    from weft.steps import simulate_step
    from weft.window import Window
    from weft.workers import Workers

__all__ = [
    "ANY_SOURCE",
    "Aborted",
    "Communicator",
    "InternalError",
    "InvalidArgument",
    "InvalidPlan",
    "Mismatch",
    "PeerLost",
    "Request",
    "Timeout",
    "UnknownVariable",
    "Unsupported",
    "WeftError",
    "Window",
    "Workers",
    "__version__",
    "algorithm",
    "empty",
    "fit",
    "init",
    "is_symmetric",
    "launch_environment",
    "price",
    "search",
    "simulate",
    "simulate_step",
]

_MODULES = {
    "weft.arrays": ("empty", "is_symmetric"),
    "weft.communicator": ("ANY_SOURCE", "Communicator"),
    "weft.cost": ("fit", "price"),
    "weft.environment": ("launch_environment",),
    "weft.errors": (
        "Aborted",
        "InternalError",
        "InvalidArgument",
        "InvalidPlan",
        "Mismatch",
        "PeerLost",
        "Timeout",
        "UnknownVariable",
        "Unsupported",
        "WeftError",
    ),
    "weft.join": ("init",),
    "weft.optim": (),
    "weft.plan": ("algorithm",),
    "weft.request": ("Request",),
    "weft.searching": ("search",),
    "weft.simulation": ("simulate",),
    "weft.steps": ("simulate_step",),
    "weft.topology": (),
    "weft.train": (),
    "weft.window": ("Window",),
    "weft.workers": ("Workers",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Loaded at first use: torch imports this package as it starts, and must not fail where the
    # compiled core is missing.
    if f"weft.{name}" in _MODULES:
        return importlib.import_module(f"weft.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
