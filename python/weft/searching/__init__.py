"""The search for a plan: over algorithms, their parameters and chunks, on a topology."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from weft._build_info import SIMGRID_MISSING
from weft._core import Price, Topology
from weft.errors import InvalidArgument, Unsupported
from weft.searching.bound import bound
from weft.searching.call import Call
from weft.searching.explore import Prices, explore
from weft.searching.finals import Found, Outcome, Simulations, climb, outcomes_of
from weft.searching.proof import prove
from weft.searching.save import save
from weft.searching.space import Candidate, spaces

__all__ = ["Candidate", "Found", "Outcome", "bound", "save", "search"]


def search(
    collective: str,
    topology: str | Path | Topology,
    *,
    nbytes: int,
    ranks: int | None = None,
    dtype: str = "float32",
    slot_bytes: int | None = None,
    top: int = 10,
    simulate: bool | None = None,
    jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Found:
    """Searches for the plan that is fastest for one call on a topology.

        weft.search("allreduce", "tsubame3", ranks=256, nbytes=32 << 20).best.candidate

    All algorithms of the collective that need no symmetric memory are priced, also compositions
    over nodes with their leaders, inner and outer algorithms and pieces. The search first prices
    coarsely, then step by step around the best, each with chunks of several lengths. Around the
    best few by price it goes on by simulation. The winner is proved. For more than 64 ranks it is
    proved on fewer nodes of the same shape.

    Args:
        collective: "allreduce", "broadcast", ...
        topology: a value, a shipped name or a file.
        nbytes: of the whole message, as nccl-tests count.
        ranks: the first of the topology's; by default all of them.
        dtype: of the elements.
        slot_bytes: memory for the slots of a rank, which limits chunks; by default what a
            communicator has. 0: as much as messages need.
        top: how many are simulated at first, and returned.
        simulate: False stops at prices; None does so where Weft was built without SimGrid.
        jobs: prices and simulations at a time; by default one a core.
        progress: called with a line that says how far the search is.

    Raises:
        InvalidArgument: there is no such collective, or the topology has too few ranks.
        InvalidPlan: the winner's proof failed.
        Unsupported: `simulate` is True, and Weft was built without SimGrid.
    """
    if simulate and SIMGRID_MISSING:
        raise Unsupported(f"Weft cannot simulate: {SIMGRID_MISSING}")
    call = Call.of(collective, topology, nbytes, ranks, dtype, slot_bytes)
    say = progress or (lambda _: None)
    jobs = jobs or len(os.sched_getaffinity(0))

    def heard(count: int, best: Price) -> None:
        say(f"{count} priced, the best takes {best.seconds * 1e3:.4g} ms")

    found = spaces(collective, call.topology, call.ranks)
    simulating = simulate is not False and not SIMGRID_MISSING
    with Prices(call, jobs, heard) as prices, Simulations(call, jobs, say) as simulations:
        tried = explore(prices, found)
        if not tried:
            raise InvalidArgument(f"there is no algorithm for {collective} of {call.ranks} ranks")
        if simulating:
            climb(prices, found, tried, simulations, top)
        outcomes = outcomes_of(tried, simulations.seconds, top)
        counts = len(prices), len(simulations.seconds)
    best = outcomes[0].candidate
    say(f"proving {best}")
    least = bound(collective, call.topology, call.ranks, nbytes)
    return Found(call, outcomes, *counts, least, prove(best, call.ranks))
