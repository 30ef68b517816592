"""Weft: collectives as proved plans.

    import numpy as np, weft

    with weft.init() as comm:            # under torchrun, or with WEFT_RENDEZVOUS
        total = comm.allreduce(np.ones(4))

`weft.Communicator` documents the calls, `weft.errors` what they raise, `weft.plan` how to write and
prove an algorithm of one's own. With PyTorch,
`torch.distributed.init_process_group("weft")` needs no import.
"""

from weft._build_info import VERSION as __version__
from weft.arrays import empty
from weft.communicator import ANY_SOURCE, Communicator, init
from weft.errors import (
    Aborted,
    InternalError,
    InvalidArgument,
    InvalidPlan,
    Mismatch,
    PeerLost,
    Timeout,
    Unsupported,
    WeftError,
)
from weft.plan import algorithm
from weft.request import Request

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
    "Unsupported",
    "WeftError",
    "__version__",
    "algorithm",
    "empty",
    "init",
]
