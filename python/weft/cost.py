"""The cost model: what a plan takes on a topology, and which parameters suit one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from weft import _core
from weft._core import Plan, Price, Topology, find_algorithm
from weft.errors import InvalidArgument

__all__ = ["Price", "fit", "price"]


def fit(
    algorithm: str,
    topology: str | Path | Topology,
    *,
    ranks: int | None = None,
    params: Mapping[str, int | str | Sequence[int]] | None = None,
) -> dict[str, int | str | list[int]]:
    """The parameters that a topology answers for an algorithm, where `params` leave them open.

        weft.fit("lr_lr", "tsubame3", ranks=64)     # {"node": 4}

    `node` is the number of ranks in a node, if all nodes have equally many consecutive ranks.
    Otherwise `place` is the node of each rank. `tree` is the topology as a tree. Parameters that
    the algorithm does not ask for, or refuses, are left out. Pricing and simulating an algorithm by
    its name fill in the same parameters.

    Args:
        algorithm: its name.
        topology: a value, a shipped name or a file.
        ranks: the first of the topology's; by default all of them.
        params: what is given already.

    Raises:
        InvalidArgument: there is no such algorithm, or the topology has too few ranks.
    """
    topology = _loaded(topology)
    count = len(topology.ranks) if ranks is None else ranks
    return _core.fit(find_algorithm(algorithm), count, params or {}, topology)


def _loaded(topology: str | Path | Topology) -> Topology:
    if isinstance(topology, Topology):
        return topology
    from weft.topology import load

    return load(topology)


def price(
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
    slot_bytes: int = 0,
) -> Price:
    """Prices an algorithm or a plan: its critical path on a topology.

        weft.price("allreduce/ring", "tsubame3", ranks=256, nbytes=32 << 20).seconds

    Args:
        plan: an algorithm's name, or a plan.
        topology: a value, a shipped name or a file.
        nbytes: of the whole message, as nccl-tests count.
        ranks: the first of the topology's; by default all of them. A plan has its own number.
        params: of the algorithm; what they leave open the topology may answer (`fit`).
        chunk: bytes; 0: as a communicator would choose.
        dtype: of the elements; it matters where partial sums travel as float32.
        symmetric: outputs lie in symmetric memory.
        in_place: of allreduce and broadcast.
        slot_bytes: memory for the slots of a rank, which shortens chunks; 0: no limit.
            A communicator has 4 MiB.

    Returns:
        seconds, until the last rank is through; messages and their bytes, one for each
        destination; depth, the longest chain of messages; busiest, the part of the topology that
        was occupied longest, and busy, its seconds; chunk in bytes; fitted, the parameters that
        the topology answered.

    Raises:
        InvalidArgument: the algorithm refuses ranks or params, or the topology has too few ranks.
        InvalidPlan: the plan gets stuck.
    """
    if nbytes < 0 or chunk < 0:
        raise InvalidArgument(f"nbytes {nbytes}, chunk {chunk}: give bytes that are not negative")
    topology = _loaded(topology)
    if isinstance(plan, Plan):
        if ranks not in (None, plan.shape.ranks) or params:
            raise InvalidArgument("ranks and params are the plan's own: leave them out")
        return _core.price_plan(
            plan, topology, nbytes, chunk, dtype, symmetric, in_place, slot_bytes
        )
    count = len(topology.ranks) if ranks is None else ranks
    return _core.price_algorithm(
        plan, topology, count, nbytes, params or {}, chunk, dtype, symmetric, in_place, slot_bytes
    )
