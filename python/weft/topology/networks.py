"""Generators: equal nodes, joined by a network."""

from __future__ import annotations

from weft import _core
from weft.topology.parts import Node, Plant, Rates, Switch, Wire, single

_NO_TIME = Rates()


def alone(
    node: Node, *, name: str = "alone", rates: Rates = _NO_TIME, one_port: bool = False
) -> _core.Topology:
    """A node without a network, or a whole cluster written out as one."""
    plant = Plant()
    plant.add_node(node, 0)
    return plant.topology(name, rates, one_port)


def flat(
    nodes: int,
    link: Wire,
    *,
    node: Node | None = None,
    switch: Switch | None = None,
    name: str = "flat",
    rates: Rates = _NO_TIME,
    one_port: bool = False,
) -> _core.Topology:
    """All nodes on one switch; by default a rank a node."""
    plant = Plant()
    attached = plant.add_nodes(node or single(), nodes)
    plant.vertex("switch", switch or Switch())
    for ends in attached:
        for end in ends:
            plant.join(end, "switch", link)
    return plant.topology(name, rates, one_port)


def fat_tree(
    nodes: int,
    link: Wire,
    *,
    nodes_a_leaf: int,
    uplink: Wire,
    roots: int = 1,
    leaf: Switch | None = None,
    root: Switch | None = None,
    node: Node | None = None,
    name: str = "fat_tree",
    rates: Rates = _NO_TIME,
    one_port: bool = False,
) -> _core.Topology:
    """Two levels: leaf switches for `nodes_a_leaf` nodes, each joined to all of `roots`.

    If a node attaches in several places, each place has leaves of its own: rails.
    """
    plant = Plant()
    attached = plant.add_nodes(node or single(), nodes)
    for number in range(roots):
        plant.vertex(f"root{number}", root or Switch())
    for number, ends in enumerate(attached):
        for rail, end in enumerate(ends):
            name_of_leaf = f"leaf{number // nodes_a_leaf}.{rail}"
            if number % nodes_a_leaf == 0:
                plant.vertex(name_of_leaf, leaf or Switch())
                for up in range(roots):
                    plant.join(name_of_leaf, f"root{up}", uplink)
            plant.join(end, name_of_leaf, link)
    return plant.topology(name, rates, one_port)


def dragonfly(
    nodes: int,
    link: Wire,
    *,
    routers: int,
    nodes_a_router: int,
    local: Wire,
    between_groups: Wire,
    router: Switch | None = None,
    node: Node | None = None,
    name: str = "dragonfly",
    rates: Rates = _NO_TIME,
    one_port: bool = False,
) -> _core.Topology:
    """Groups of `routers` routers, all joined in a group; one link between each two groups.

    A group's links to the others are dealt out to its routers in turn. Ways are the shortest.
    """
    plant = Plant()
    attached = plant.add_nodes(node or single(), nodes)
    groups = -(-nodes // (routers * nodes_a_router))
    for group in range(groups):
        for one in range(routers):
            plant.vertex(f"router{group}.{one}", router or Switch())
            for other in range(one):
                plant.join(f"router{group}.{other}", f"router{group}.{one}", local)
        for other in range(group):
            # Counted from each group's own neighbour on: group - other - 1 groups lie between.
            ahead, behind = group - other - 1, groups - (group - other) - 1
            plant.join(
                f"router{other}.{ahead % routers}", f"router{group}.{behind % routers}",
                between_groups,
            )  # fmt: skip
    for number, ends in enumerate(attached):
        place = number // nodes_a_router
        for end in ends:
            plant.join(end, f"router{place // routers}.{place % routers}", link)
    return plant.topology(name, rates, one_port)
