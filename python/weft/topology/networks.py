"""Generators: equal nodes, joined by a network."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from weft import _core
from weft.errors import InvalidArgument
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
    rails: int | None = None,
    leaf: Switch | None = None,
    root: Switch | None = None,
    node: Node | None = None,
    name: str = "fat_tree",
    rates: Rates = _NO_TIME,
    one_port: bool = False,
) -> _core.Topology:
    """Two levels: leaf switches for `nodes_a_leaf` nodes, each joined to all of `roots`.

    If a node attaches in several places, these are dealt out to `rails` leaves in turn. By default
    each place has leaves of its own.
    """
    plant = Plant()
    attached = plant.add_nodes(node or single(), nodes)
    for number in range(roots):
        plant.vertex(f"root{number}", root or Switch())
    for number, ends in enumerate(attached):
        for place, end in enumerate(ends):
            rail = place % (rails or len(ends))
            name_of_leaf = f"leaf{number // nodes_a_leaf}.{rail}"
            if number % nodes_a_leaf == 0 and place == rail:
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
    global_links: int | None = None,
    router: Switch | None = None,
    node: Node | None = None,
    name: str = "dragonfly",
    rates: Rates = _NO_TIME,
    one_port: bool = False,
) -> _core.Topology:
    """Groups of `routers` routers, all joined in a group, and links between each two groups.

    By default there is one link for each two groups. If routers have `global_links` each, a second
    and further round over all groups adds links where both groups have one to spare. A group deals
    its links out to its routers in turn. Routes are the shortest.

    Raises InvalidArgument if the routers have too few links to join each two groups.
    """
    plant = Plant()
    attached = plant.add_nodes(node or single(), nodes)
    groups = -(-nodes // (routers * nodes_a_router))
    for group in range(groups):
        for one in range(routers):
            plant.vertex(f"router{group}.{one}", router or Switch())
            for other in range(one):
                plant.join(f"router{group}.{other}", f"router{group}.{one}", local)
    for (first, one), (second, other) in _between(groups, routers, global_links):
        plant.join(f"router{first}.{one}", f"router{second}.{other}", between_groups)
    for number, ends in enumerate(attached):
        place = number // nodes_a_router
        for end in ends:
            plant.join(end, f"router{place // routers}.{place % routers}", link)
    return plant.topology(name, rates, one_port)


def _between(
    groups: int, routers: int, links: int | None
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The links between groups, each from a router to a router: (group, number in the group)."""
    most = groups - 1 if links is None else routers * links
    if most < groups - 1:
        raise InvalidArgument(
            f"{groups} groups of {routers} routers with {links} global links each: give at least "
            f"{-(-(groups - 1) // routers)}, so that each two groups are joined"
        )
    used = [0] * groups
    rounds = -(-most // (groups - 1)) if groups > 1 else 0
    for _ in range(rounds):
        for first, second in combinations(range(groups), 2):
            if max(used[first], used[second]) < most:
                yield (first, used[first] % routers), (second, used[second] % routers)
                used[first] += 1
                used[second] += 1
