"""Clusters as values: read from files, shipped by name, or generated.

    import weft

    t = weft.topology.load("tsubame3", nodes=64)     # or load("cluster.yaml")
    t.paths([(0, 35)])                               # the links from rank 0 to rank 35
    weft.price("allreduce/ring", t, ranks=256, nbytes=32 << 20)

    wire = weft.topology.Wire(latency=1e-6, bandwidth=12.5e9)
    t = weft.topology.flat(1024, wire)               # also fat_tree, dragonfly, alone
    node = weft.topology.pcie_tree(sockets=2, plx=2, gpus=2, pcie=wire)
    t = weft.topology.flat(8, wire, node=node)

Seconds, bytes a second, watts. docs/topology.md describes the files.
"""

from __future__ import annotations

from pathlib import Path

from weft._core import Link, Topology, Vertex
from weft.errors import InvalidArgument
from weft.topology.networks import alone, dragonfly, fat_tree, flat
from weft.topology.parts import Node, Rates, Switch, Wire, pcie_tree, single
from weft.topology.placement import placed
from weft.topology.read import topology_of
from weft.topology.write import text_of

__all__ = [
    "Link",
    "Node",
    "Rates",
    "Switch",
    "Topology",
    "Vertex",
    "Wire",
    "alone",
    "dragonfly",
    "fat_tree",
    "flat",
    "load",
    "pcie_tree",
    "placed",
    "shipped",
    "single",
    "text_of",
]

_SHIPPED = Path(__file__).parent / "shipped"


def shipped() -> list[str]:
    """The names of the topologies that come with Weft."""
    return sorted(file.stem for file in _SHIPPED.glob("*.yaml"))


def load(source: str | Path, *, nodes: int | None = None) -> Topology:
    """The topology of a shipped name or a file; `nodes` replaces its number of nodes.

    Raises:
        InvalidArgument: there is no such name or file, or, with the line, what is wrong in it.
    """
    if nodes is not None and nodes < 1:
        raise InvalidArgument(f"{nodes} nodes: give at least one")
    if isinstance(source, str) and source in shipped():
        return topology_of(_SHIPPED / f"{source}.yaml", nodes)
    if not Path(source).exists():
        raise InvalidArgument(
            f"{source} is neither a file nor a topology that comes with weft: "
            f"{', '.join(shipped())}"
        )
    return topology_of(Path(source), nodes)
