"""What a training step computes, and what it waits for.

"step"                     all of it
"forward"                  the model and the loss, waits included
"allreduce"                waits for gradients of the perceptrons
"alltoall forward"         waits for embeddings; "alltoall backward": for their gradients
"beside alltoall forward"  what is computed while embeddings may travel; "... backward" likewise
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator

import torch


class Stopwatch:
    """Seconds by name. Not thread safe."""

    def __init__(self) -> None:
        """Nothing is measured yet."""
        self.seconds: Counter[str] = Counter()
        self._last_gradient = 0.0

    @contextlib.contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Adds the time of the block to `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start

    def watch_gradients(self, parameters: list[torch.nn.Parameter]) -> None:
        """Notes when each of these gets its gradient, for `after_backward`."""

        def note(_: torch.Tensor) -> None:
            self._last_gradient = time.perf_counter()

        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(note)

    def after_backward(self) -> None:
        """Backward has returned. DDP waited since the last gradient: this is exposed allreduce."""
        self.seconds["allreduce"] += time.perf_counter() - self._last_gradient
