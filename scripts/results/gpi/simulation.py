"""Simulates a turn: a network on a number of nodes, by a strategy."""

from __future__ import annotations

import weft
from weft.steps import StepSimulation
from weft.topology import Topology

from gpi import one_node, trees
from gpi.cases import (
    ALLREDUCE,
    CUT,
    FOR_MANY,
    GPUS,
    MANY,
    PHASES,
    SECONDS,
    STRATEGIES,
    TOPOLOGY,
    VARIANTS,
    Row,
)  # fmt: skip
from gpi.networks import layers_of
from gpi.programs import Platform, program, units_of


def taken(turn: Row, rows: list[Row]) -> Row:
    """The row of a turn. `rows` has the layers of its network, unless these are the turn.

    Raises:
        ValueError: `rows` has no layers of the network, or there is no such strategy.
    """
    if turn["part"] == "layers":
        return {"layers": layers_of(turn["network"])}
    layers = layers_in(rows, turn["network"])
    seconds = SECONDS[turn["network"], turn["processor"]]
    if turn["part"] == "one node":
        found = one_node.simulated(turn["strategy"], layers, seconds, turn["gpus"])
    else:
        found = _between_nodes(turn, layers, seconds)
    return {"seconds": found.seconds}


def _between_nodes(turn: Row, layers: list[Row], seconds: float) -> StepSimulation:
    """A node computes its share of the batch in its share of the time."""
    strategy, variant = turn["strategy"], VARIANTS[turn.get("variant", "as above")]
    if strategy not in STRATEGIES:
        raise ValueError(f"{strategy!r} is none of {', '.join(STRATEGIES)}")
    trees.register()
    shares = _some(variant, "forward", "time")
    units = units_of(layers, seconds / turn["nodes"], strategy, **shares)
    step = program(strategy, units, platform_of(turn, variant))
    place = cluster(turn["nodes"], variant.get("host", 1.0))
    return weft.simulate_step(step, place, model=variant.get("model", "plain"))


def layers_in(rows: list[Row], network: str) -> list[Row]:
    """The layers that are written there."""
    for row in rows:
        if row["turn"] == {"part": "layers", "network": network}:
            return row["layers"]
    raise ValueError(f"the layers of {network} are not there yet")


def platform_of(turn: Row, variant: Row) -> Platform:
    """The turn's node, and the plan of its allreduces."""
    many = turn["nodes"] >= MANY and turn["strategy"] in (ALLREDUCE, CUT, PHASES)
    plan = {"allreduce": FOR_MANY} if many else {}
    own = _some(variant, "pcie", "engines", "allreduce")
    return Platform(turn["processor"] in GPUS, **{**plan, **own})


def cluster(nodes: int, host: float = 1.0) -> Topology:
    """The document's nodes. Copies and sums of the host take `host` times as long."""
    place = weft.topology.load(TOPOLOGY, nodes=nodes)
    scale = 1 / host if host else 0.0  # a rate of 0 takes no time
    place.copy, place.reduce = place.copy * scale, place.reduce * scale
    return place


def _some(variant: Row, *names: str) -> Row:
    return {name: variant[name] for name in names if name in variant}
