"""Plans: the programs that collectives run, as values, and algorithms that write them.

An algorithm is a function that writes one rank's program with a builder. It is verified for 1 to
5 and 8 ranks when it is defined, and then called by its name:

    @weft.algorithm("broadcast/star")
    def star(b):
        '''The root sends to everyone, one message for all.'''
        root = b.param("root", 0)
        others = [rank for rank in range(b.ranks) if rank != root]
        channel = b.channel(slots=4)
        with b.chunks():
            if b.rank == root:
                b.copy([b.output()], b.input())
                if others:
                    b.put(b.input(), to=others, channel=channel)
            else:
                b.wait(root, channel, b.output())
                b.copy([b.output()], b.slot(root, channel))
                b.credit(root, channel, b.output())

    comm.broadcast(x, algorithm="star")

The builder's words:

    b.rank, b.ranks, b.param(name, fallback)   a number, a word or a list of numbers
    b.blocks(input, output)               how buffers are cut; where the collective leaves it open
    b.channel(slots)                      declares a channel; with wide=True float16 and bfloat16
                                          are sent in float32, with narrow=True float32 in bfloat16
    b.input(block=0, blocks=1)            own buffers, by blocks; b.output(...) alike
    b.input_of(rank, block=0, blocks=1)   a peer's, in symmetric memory; b.output_of(...) alike
    b.slot(channel)                       the own slot, to be filled and sent
    b.slot(peer, channel)                 what was received
    with b.chunks(): / with b.once():     a section: chunk by chunk, or once on whole ranges
    b.lag(trips)                          the next steps work this many chunks behind
    b.copy(dst, src, of=None)             dst: one operand, or a list of two; `of`: as below
    b.reduce(dst, [src, ...], last=False) last=True: the one that scales (avg, premul_sum);
                                          tree=True: as a balanced tree, not from the left
    b.put(src, to, channel, dst=None)     to: a rank or a list; dst: an output_of() for each
    b.signal(to, channel, of=None)        `of`: the range whose chunks the message goes with
    b.wait(source, channel, of=None)
    b.credit(source, channel, of=None)
    b.flush()                             until own puts have been read

All ranks declare the same channels, blocks and parameters in the same order. docs/design/plan.md
says what the verbs promise each other. A misuse raises `InvalidPlan` at the line that makes it. A
plan that is wrong as a whole raises it with the verifier's report.

Plans are values that compare, print (`str(plan)`, read back by `parse_plan`), and go to JSON and
back. They may be shared between threads; a builder belongs to one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from weft._core import (
    Algorithm,
    Builder,
    Channel,
    Finding,
    Group,
    Index,
    Operand,
    Plan,
    PlanShape,
    Range,
    Section,
    Step,
    VerifyReport,
    algorithm_names,
    find_algorithm,
    make_plan,
    parse_plan,
    register_algorithm,
    verify,
)
from weft.plan_json import plan_from_json, plan_to_json

__all__ = [
    "Algorithm",
    "Builder",
    "Channel",
    "Finding",
    "Group",
    "Index",
    "Operand",
    "Plan",
    "PlanShape",
    "Range",
    "Section",
    "Step",
    "VerifyReport",
    "algorithm",
    "algorithm_names",
    "find_algorithm",
    "make_plan",
    "parse_plan",
    "plan_from_json",
    "plan_to_json",
    "register_algorithm",
    "verify",
]

Write = TypeVar("Write", bound=Callable[[Builder], None])


def algorithm(
    name: str,
    *,
    summary: str | None = None,
    refuses: Callable[[int, dict[str, Any]], str | None] | None = None,
    consistent: bool = False,
    reproducible: bool = False,
) -> Callable[[Write], Write]:
    """Registers the decorated function as an algorithm, after verifying it.

    It stays a plain function of a builder, so algorithms can call each other. Every rank of a
    communicator must register the same algorithm under a name that it gives in a call. Registering
    a name again replaces the algorithm. Communicators that have used it with these parameters keep
    the plan. Built-in algorithms cannot be replaced.

    Args:
        name: the collective and a word, "allreduce/my_ring".
        summary: one line for listings; by default the first line of the function's docstring.
        refuses: given (ranks, params), returns why it does not support them, or None.
        consistent: claims that all ranks get identical bits, which is then proved too.
        reproducible: claims that sums are those of one tree over the ranks in order, rounded once,
            as reproducible communicators ask for; proved too.

    Raises:
        InvalidPlan: with the verifier's report.
        InvalidArgument: if the name is taken or is no name.
    """

    def register(write: Write) -> Write:
        text = summary if summary is not None else (inspect.getdoc(write) or "").partition("\n")[0]
        register_algorithm(
            name, name.partition("/")[0], text, write, refuses, consistent, reproducible
        )
        return write

    return register
