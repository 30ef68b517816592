"""The best schedule of a training step: what no exchange of gradients can undercut.

One wire carries the bytes of one layer at a time, and may leave a layer for another at any moment.
A layer's bytes may go once its gradients are ready, and must have gone before its next forward
pass. Of the layers that are ready, the one whose forward pass comes first goes first. For one wire
and known times no other order makes any layer wait less (Jackson's rule, with preemption).
"""

from __future__ import annotations

from dataclasses import dataclass

ITERATIONS = 12  # enough for the time of a step to settle


@dataclass(frozen=True)
class Layer:
    """Seconds of one layer, in the order of the forward pass."""

    forward: float
    backward: float
    update: float
    wire: float


def layers_of(rows: list[list], update: float, bytes_a_second: float) -> list[Layer]:
    """From what `step.py` measured: name, bytes, begin of forward, time of gradients.

    Layers whose gradients come together have the time of the first of them. The last layer's
    forward pass counts as backward, with the loss. `update` is divided by the bytes.
    """
    every = sum(row[1] for row in rows)
    made = []
    for number, (_, nbytes, begin, ready) in enumerate(rows):
        last = number == len(rows) - 1
        forward = 0.0 if last else rows[number + 1][2] - begin
        backward = ready - (begin if last else rows[number + 1][3])
        share = nbytes / every
        made.append(Layer(max(0.0, forward), max(0.0, backward), update * share,
                          nbytes / bytes_a_second))  # fmt: skip
    return made


def best_step(layers: list[Layer]) -> float:
    """Seconds of a step under the best schedule, once its time has settled."""
    left = [0.0] * len(layers)
    now = end = 0.0
    for _ in range(ITERATIONS):
        begin = end
        for number, layer in enumerate(layers):
            now += _work_off(left, left[number])
            now += _work_off(left, layer.update + layer.forward, idle=True)
        for number in reversed(range(len(layers))):
            now += _work_off(left, layers[number].backward, idle=True)
            left[number] += layers[number].wire
        end = now
    return end - begin


def _work_off(left: list[float], seconds: float, idle: bool = False) -> float:
    """The wire works for so long, first layers first; returns how long. idle: it may have less."""
    rest = seconds
    for number, needed in enumerate(left):
        part = min(needed, rest)
        left[number] -= part
        rest -= part
    return seconds if idle else seconds - rest
