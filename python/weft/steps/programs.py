"""Checks of the ranks' programs before they are simulated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from weft.errors import InvalidArgument
from weft.steps.operations import Collective, Compute, Copy, Operation, Wait


def programs_of(
    program: Sequence[Operation] | Sequence[Sequence[Operation]], ranks: int
) -> list[Sequence[Operation]]:
    """The program of each rank.

    Raises:
        InvalidArgument: naming rank and operation.
    """
    if not program or isinstance(program[0], Operation):
        own = cast("Sequence[Operation]", program)
        _check_program(0, own)
        return [own] * ranks
    programs = cast("Sequence[Sequence[Operation]]", program)
    if len(programs) != ranks:
        raise InvalidArgument(f"{len(programs)} programs for {ranks} ranks: give one for each rank")
    for rank, own in enumerate(programs):
        _check_program(rank, own)
        _check_alike(rank, own, programs[0])
    return list(programs)


def _check_program(rank: int, program: Sequence[Operation]) -> None:
    if not isinstance(program, Sequence) or not program:
        raise InvalidArgument(f"rank {rank}: the program is {program!r}: give some operations")
    started: dict[str, int] = {}
    for number, op in enumerate(program):
        where = f"rank {rank}, operation {number}"
        if not isinstance(op, Operation):
            raise InvalidArgument(f"{where}: {op!r} is no operation of weft.steps")
        if isinstance(op, Compute | Copy) and not (math.isfinite(op.seconds) and op.seconds >= 0):
            raise InvalidArgument(f"{where}: {op.seconds} seconds: give a number that is not < 0")
        if not isinstance(op, Copy | Collective):
            continue
        if isinstance(op, Collective) and (op.nbytes < 0 or op.chunk < 0):
            raise InvalidArgument(
                f"{where}: nbytes {op.nbytes}, chunk {op.chunk}: give bytes that are not negative"
            )
        if op.name in started:
            raise InvalidArgument(
                f"{where}: {op.name!r} is the name of operation {started[op.name]} too: "
                "what a program starts has names of its own"
            )
        if later := [name for name in op.after if name not in started]:
            raise InvalidArgument(f"{where}: after {later[0]!r}, which is not started above it")
        started[op.name] = number
    for number, op in enumerate(program):
        if isinstance(op, Wait) and op.name not in started:
            raise InvalidArgument(
                f"rank {rank}, operation {number}: waits for {op.name!r}, which the program never "
                f"starts; it starts {', '.join(started) or 'nothing'}"
            )


def _check_alike(rank: int, program: Sequence[Operation], first: Sequence[Operation]) -> None:
    """Each rank has the collectives of rank 0, those of a priority in the same order."""
    own, others = _collectives(program), _collectives(first)
    for priority in own.keys() | others.keys():
        mine, theirs = own.get(priority, []), others.get(priority, [])
        for number in range(max(len(mine), len(theirs))):
            a, b = (ops[number] if number < len(ops) else None for ops in (mine, theirs))
            if a is None or b is None or _call(a) != _call(b):
                raise InvalidArgument(
                    f"rank {rank}: its collective number {number} of priority {priority} is "
                    f"{_text(a)}, that of rank 0 {_text(b)}: all ranks start the same collectives "
                    "of a priority in the same order"
                )


def _collectives(program: Sequence[Operation]) -> dict[int, list[Collective]]:
    found: dict[int, list[Collective]] = {}
    for op in program:
        if isinstance(op, Collective):
            found.setdefault(op.priority, []).append(op)
    return found


def _call(op: Collective) -> tuple[object, ...]:
    return (op.name, op.plan, op.nbytes, dict(op.params), op.chunk, op.dtype, op.symmetric)


def _text(op: Collective | None) -> str:
    return "missing" if op is None else f"{op.name!r} ({op.plan}, {op.nbytes} bytes)"
