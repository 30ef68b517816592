"""The futures of collectives: their callbacks may start collectives.

The order in which callbacks run is the same on all ranks, and none runs inside of the call that
attaches it: see `strands.h` of the adapter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from weft import _torch

__all__ = ["Future"]


class Future(torch.futures.Future):  # type: ignore[misc]
    """The future that `Work.get_future` returns, and `then` of such a future. Thread safe."""

    def __init__(self, group: str) -> None:
        """`group` is the name of the process group whose collective completes it."""
        super().__init__()
        self.group = group

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Completes with what `callback(self)` returns, or fails with what it raises."""
        return _torch.then(self, callback)  # type: ignore[no-any-return]

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Calls `callback(self)` for what it does; what it raises is logged."""
        _torch.add_done_callback(self, callback)
