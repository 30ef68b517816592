"""What a simulated step took, and when its operations ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.steps.operations import Compute, Operation, Wait


@dataclass(frozen=True)
class Span:
    """When an operation ran; for what a rank starts: from its begin on the rank to its end there.

    Attributes:
        operation: of the rank's program.
        begin: seconds since the first iteration began, as `end`.
    """

    rank: int
    iteration: int
    operation: Operation
    begin: float
    end: float


@dataclass(frozen=True)
class StepSimulation:
    """The result of `simulate_step`.

    Attributes:
        seconds: of a step. With one iteration: until all is over. Else from the end of the slowest
            rank's program to that of its next one, the mean of the second half of the iterations.
        waited: seconds a step in which a rank waits, by name, in the same iterations; the mean of
            the ranks.
        spans: of all ranks and iterations.
        messages: one for each destination.
    """

    seconds: float
    waited: Mapping[str, float]
    spans: Sequence[Span]
    messages: int


def result(spans: Sequence[Span], iterations: int, ranks: int, messages: int) -> StepSimulation:
    """Adds up the spans of all iterations."""
    half = iterations // 2
    late = [span for span in spans if span.iteration >= half]
    waited: defaultdict[str, float] = defaultdict(float)
    for span in late:
        if isinstance(span.operation, Wait):
            waited[span.operation.name] += (span.end - span.begin) / ranks / (iterations - half)
    return StepSimulation(_seconds(spans, iterations), dict(waited), spans, messages)


def _seconds(spans: Sequence[Span], iterations: int) -> float:
    if iterations == 1:
        return max((span.end for span in spans), default=0.0)
    ends = [0.0] * iterations  # of the slowest rank's program
    for span in spans:
        if isinstance(span.operation, Compute | Wait):
            ends[span.iteration] = max(ends[span.iteration], span.end)
    half = iterations // 2
    return (ends[-1] - ends[half - 1]) / (iterations - half)
