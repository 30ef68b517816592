"""How far a training is."""

import argparse
import sys
import time

import torch

from dlrm.trainer import Trainer


class Progress:
    """The line that says how far the training is.

    Rates leave out the first step and the time to prepare records.
    """

    def __init__(self, done: int, options: argparse.Namespace, talk: bool) -> None:
        """Nothing is shown yet."""
        self._first, self._steps, self._talk = done + 1, options.steps, talk
        self._minibatch, self._shown = options.shape.minibatch, 0.0
        self.timed = 0
        self.samples_per_s: float | None = None

    def show(self, step: int, loss: torch.Tensor, trainer: Trainer) -> None:
        """Step number `step` is done."""
        if step == self._first:
            trainer.stopwatch.seconds.clear()
        else:
            self.timed += 1
            self.samples_per_s = self.timed * self._minibatch / trainer.stopwatch.seconds["step"]
        now = time.perf_counter()
        if not self._talk or (now < self._shown + 0.1 and step < self._steps):
            return
        self._shown = now
        text = f"step {step}/{self._steps}  loss {loss.item():.4f}  "
        text += f"{self.samples_per_s:.0f} samples/s" if self.samples_per_s else "first step"
        end = "\r" if sys.stdout.isatty() and step < self._steps else "\n"
        print(f"{text:<70}", end=end, flush=True)
