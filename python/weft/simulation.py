"""Plans simulated with SimGrid: messages that share links, and the energy of the links."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from weft import errors
from weft._build_info import SIMGRID_MISSING
from weft._core import Plan, Topology, parse_choice
from weft.cost import fit, price
from weft.errors import InternalError, InvalidArgument, Unsupported

__all__ = ["Simulation", "cheapest_chunk", "simulate"]


@dataclass(frozen=True)
class Simulation:
    """The result of a simulation.

    Attributes:
        seconds: until the last rank is through.
        joules: of the links that carried traffic, busy or idle; None if not asked for.
        chunk: bytes.
        messages: one for each destination.
        bytes: of their payload.
        fitted: the parameters that the topology answered.
    """

    seconds: float
    joules: float | None
    chunk: int
    messages: int
    bytes: float
    fitted: Mapping[str, int | str | Sequence[int]] = field(default_factory=dict)


def simulate(
    plan: str | Plan,
    topology: str | Path | Topology,
    *,
    nbytes: int,
    ranks: int | None = None,
    params: Mapping[str, int | str | Sequence[int]] | None = None,
    chunk: int = 0,
    dtype: str = "float32",
    symmetric: bool = False,
    in_place: bool = True,
    energy: bool = False,
    model: str = "smpi",
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Runs an algorithm, or a plan at hand, on a topology in SimGrid (docs/topology.md).

        weft.simulate("allreduce/ring", "tsubame3", ranks=256, nbytes=32 << 20).seconds

    Each simulation is a process of its own, a fork of this one, as SimGrid has one engine a
    process. Thread safe: several threads may simulate at once.

    Args:
        plan: an algorithm's name, or a plan.
        topology: a value, a shipped name or a file.
        nbytes: of the whole message, as nccl-tests count.
        ranks: the first of the topology's; by default all of them. A plan has its own number.
        params: of the algorithm; what they leave open the topology may answer (`weft.fit`).
        chunk: bytes; 0: as the name says, "lr(chunk=64K)", else `cheapest_chunk`.
        dtype: of the elements; it matters where partial sums travel as float32.
        symmetric: outputs lie in symmetric memory.
        in_place: of allreduce and broadcast.
        energy: adds up the joules of the links.
        model: "smpi", latencies and bandwidths by size as SimGrid has measured of MPI; or "plain",
            as the topology has them.
        progress: called now and then with the number of messages that have arrived.

    Raises:
        InvalidArgument: the algorithm refuses ranks or params, or the topology has too few ranks
            or no way between two that talk.
        InvalidPlan: the plan gets stuck.
        Unsupported: Weft was built without SimGrid.
    """
    simgrid = simgrid_module()
    if nbytes < 0 or chunk < 0:
        raise InvalidArgument(f"nbytes {nbytes}, chunk {chunk}: give bytes that are not negative")
    if not isinstance(topology, Topology):
        from weft.topology import load

        topology = load(topology)
    if isinstance(plan, str):
        chunk = chunk or parse_choice(plan).chunk
    chunk = chunk or cheapest_chunk(
        plan, topology, nbytes=nbytes, ranks=ranks, params=params, dtype=dtype,
        symmetric=symmetric, in_place=in_place,
    )  # fmt: skip
    fitted = {}
    how = (chunk, dtype, symmetric, in_place, model, energy)
    if isinstance(plan, Plan):
        if ranks not in (None, plan.shape.ranks) or params:
            raise InvalidArgument("ranks and params are the plan's own: leave them out")
        started, cut = simgrid.start_plan(plan, topology, nbytes, *how)
    else:
        count = len(topology.ranks) if ranks is None else ranks
        fitted = fit(plan, topology, ranks=count, params=params)
        all_params = {**(params or {}), **fitted}
        started, cut = simgrid.start_algorithm(plan, topology, count, nbytes, all_params, *how)
    process, reader = started
    seconds, joules, messages, payload = outcome(process, reader, progress)
    return Simulation(
        float(seconds), float(joules) if energy else None, cut, int(messages), float(payload),
        fitted,
    )  # fmt: skip


def cheapest_chunk(
    plan: str | Plan,
    topology: str | Path | Topology,
    *,
    nbytes: int,
    **how: Any,
) -> int:
    """The bytes of a chunk that costs least: 32 KiB, four times as much and so on, or all.

    It is the largest within 1% of the cheapest: each message has costs that the model does not
    count. Arguments and errors are those of `weft.price`.
    """
    sizes = [nbytes or 1]
    sizes += [size for power in range(15, 41, 2) if (size := 1 << power) < nbytes]
    prices = {size: price(plan, topology, nbytes=nbytes, chunk=size, **how) for size in sizes}
    least = min(found.seconds for found in prices.values())
    return max(size for size, found in prices.items() if found.seconds <= 1.01 * least)


def simgrid_module() -> ModuleType:
    """The module weft._simgrid. Raises `Unsupported` where it was not built."""
    if SIMGRID_MISSING:
        raise Unsupported(
            f"Weft cannot simulate: {SIMGRID_MISSING}. Install it (Debian, Ubuntu: "
            "apt-get install libsimgrid-dev), then install Weft again"
        )
    from weft import _simgrid

    return _simgrid


def outcome(
    process: int,
    reader: int,
    progress: Callable[[int], None] | None,
    span: Callable[[str], None] | None = None,
) -> Sequence[str]:
    """The words after "done" of a child's lines (python/simgrid/child.h).

    `span` is called with what follows that word. The child is ended.
    """
    word, rest = "", ""
    try:
        with os.fdopen(reader) as lines:
            for line in lines:
                word, _, rest = line.rstrip("\n").partition(" ")
                if word == "failed":  # and what it says may have more lines
                    rest += lines.read()
                elif word == "progress" and progress:
                    progress(int(rest))
                elif word == "span" and span:
                    span(rest)
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(process, 0)
    if word == "done":
        return rest.split()
    if word == "failed":
        kind, _, text = rest.partition(" ")
        raise getattr(errors, kind)(text)
    raise InternalError("the simulation's process ended before it had found anything: see stderr")
