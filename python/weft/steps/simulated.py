"""TrainingStep of training in SimGrid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft import _core
from weft._core import Plan, Topology, parse_choice
from weft.cost import fit
from weft.errors import InvalidArgument, WeftError
from weft.simulation import cheapest_chunk, outcome, simgrid_module
from weft.steps.operations import Collective, Compute, Copy, Operation, Wait
from weft.steps.programs import programs_of
from weft.steps.result import Span, StepSimulation, result
from weft.traits import TRAITS
from weft.tune.placement import nodes_of


def simulate_step(
    program: Sequence[Operation] | Sequence[Sequence[Operation]],
    topology: str | Path | Topology,
    *,
    ranks: int | None = None,
    iterations: int = 6,
    slowdown: float = 1.0,
    model: str = "smpi",
    progress: Callable[[int], None] | None = None,
) -> StepSimulation:
    """Simulates iterations of a training step on a topology in SimGrid (docs/topology.md).

    Collectives of several priorities, and of several iterations, are under way at once and share
    links. A rank begins a collective when it starts it, whatever the others do. Not modelled:
    collectives of several priorities take no time from each other for their copies and sums.

    Thread safe, as `weft.simulate`.

    Args:
        program: of all ranks, or one for each rank. It is repeated `iterations` times, with no
            barrier between.
        topology: a value, a shipped name or a file.
        ranks: the first of the topology's; by default all of them.
        iterations: as many as it takes until steps last equally long.
        slowdown: a rank computes so many times as long while a collective is under way on it: what
            communication takes from its cores, to be measured.
        model: "smpi" or "plain", as of `weft.simulate`.
        progress: called now and then with the number of messages that have arrived.

    Raises:
        InvalidArgument: a program waits for what it never starts, names two things alike, has
            negative seconds or bytes, or ranks start different collectives; or as `weft.simulate`.
        InvalidPlan: a plan gets stuck.
        Unsupported: Weft was built without SimGrid.
    """
    simgrid = simgrid_module()
    if not isinstance(topology, Topology):
        from weft.topology import load

        topology = load(topology)
    count = len(topology.ranks) if ranks is None else ranks
    if iterations < 1 or count < 1:
        raise InvalidArgument(f"iterations {iterations}, ranks {count}: give at least 1 of each")
    if not slowdown >= 1:
        raise InvalidArgument(f"slowdown {slowdown}: give a number from 1 on")
    programs = programs_of(program, count)
    step = simgrid.TrainingStep(count)
    numbers = _add_tasks(step, programs, topology)
    for rank, operations in enumerate(programs):
        _add_program(step, rank, operations, numbers)
    spans: list[Span] = []

    def add_span(words: str) -> None:
        rank, iteration, number, begin, end = words.split()
        what = programs[int(rank)][int(number)]
        spans.append(Span(int(rank), int(iteration), what, float(begin), float(end)))

    process, reader = step.run(topology, iterations, slowdown, model)
    (messages,) = outcome(process, reader, progress, add_span)
    return result(spans, iterations, count, int(messages))


def _add_tasks(
    step: Any, programs: Sequence[Sequence[Operation]], topology: Topology
) -> dict[str, int]:
    """Lanes are by priority and by engine. Returns the number of each name."""
    started = {op.name: op for own in programs for op in own if isinstance(op, Copy | Collective)}
    lanes: dict[str | int, int] = {}
    collectives = 0
    for op in started.values():
        if isinstance(op, Collective):
            _add_collective(step, op, topology, len(programs))
            step.add_task(lanes.setdefault(op.priority, len(lanes)), collectives)
            collectives += 1
        else:
            step.add_task(lanes.setdefault(op.engine, len(lanes)), -1)
    return {name: number for number, name in enumerate(started)}


def _add_collective(step: Any, op: Collective, topology: Topology, ranks: int) -> None:
    try:
        plan, params, chunk = _chosen(op, topology, ranks)
        how = (op.nbytes, chunk, op.dtype, op.symmetric, op.priority)
        if isinstance(plan, Plan):
            step.add_plan(plan, *how)
        else:
            step.add_algorithm(plan, params, *how)
    except WeftError as error:
        raise type(error)(f"collective {op.name!r}: {error}") from None


def _chosen(
    op: Collective, topology: Topology, ranks: int
) -> tuple[str | Plan, dict[str, Any], int]:
    """The algorithm, its parameters and the bytes of a chunk."""
    plan, params, chunk = op.plan, dict(op.params), op.chunk
    if isinstance(plan, Plan):
        if plan.shape.ranks != ranks or params:
            raise InvalidArgument(
                f"the plan is for {plan.shape.ranks} ranks and has its own params: simulate it on "
                "as many ranks, without params"
            )
    else:
        if plan in TRAITS:
            choice = _core.select(
                plan, ranks, op.nbytes, op.dtype, "sum", op.symmetric, "", nodes_of(topology, ranks)
            ).choice
            plan, params = choice.algorithm, {**choice.params, **params}
        else:
            choice = parse_choice(plan)
        chunk = chunk or choice.chunk
        params |= fit(plan, topology, ranks=ranks, params=params)
    chunk = chunk or cheapest_chunk(
        plan, topology, nbytes=op.nbytes, ranks=ranks, params=params, dtype=op.dtype,
        symmetric=op.symmetric,
    )  # fmt: skip
    return plan, params, chunk


def _add_program(
    step: Any, rank: int, operations: Sequence[Operation], numbers: dict[str, int]
) -> None:
    above: set[str] = set()
    for op in operations:
        if isinstance(op, Compute):
            step.compute(rank, op.seconds)
        elif isinstance(op, Wait):
            step.wait(rank, numbers[op.name], op.name not in above)
        else:
            seconds = op.seconds if isinstance(op, Copy) else 0
            step.start(rank, numbers[op.name], seconds, [numbers[name] for name in op.after])
            above.add(op.name)
