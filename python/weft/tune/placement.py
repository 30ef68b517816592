"""Where the ranks of a question are."""

from __future__ import annotations

from weft import _core
from weft._core import Topology


def crowded_here(ranks: int) -> bool:
    """Whether there are more ranks than cores that this process may use."""
    return bool(ranks > _core.system_info()["usable_cores"])


def nodes_of(topology: Topology | None, ranks: int) -> int:
    """Machines that the first ranks of a topology are on; one where there is none."""
    if topology is None:
        return 1
    return len({topology.vertices[vertex].node for vertex in topology.ranks[:ranks]})
