"""Training steps as data, simulated: ranks compute while collectives and copies are under way.

from weft.steps import Collective, Compute, Wait

program = [
Wait("gradients"), Compute(0.010, "forward"), Compute(0.020, "backward"),
Collective("gradients", "allreduce", 25 << 20),
]
weft.simulate_step(program, "rx2", ranks=16).seconds
"""

from weft.steps.operations import Collective, Compute, Copy, Operation, Wait
from weft.steps.result import Span, StepSimulation
from weft.steps.simulated import simulate_step

__all__ = [
    "Collective", "Compute", "Copy", "Operation", "Span", "StepSimulation", "Wait", "simulate_step",
]  # fmt: skip
