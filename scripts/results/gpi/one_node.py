"""The document's Fig. 5: one node with up to four GPUs, simulated with copies that share its buses.

    gpu0 gpu1      gpu2 gpu3
      \\  /          \\  /
      card0         card1         two GPUs of a K80 under one slot
        |             |
      slot0 - root - slot1
      /   \\         /   \\
    way0  way1    way2  way3
     |     |       |     |
    host0 host1  host2 host3      a process for each GPU
      \\     \\     /     /
             hca                  all they send passes the network card

Copies are messages here, so that those of two GPUs share the slot of their card. Each GPU and each
process is a rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft.steps import Collective, Compute, Operation, StepSimulation, Wait
from weft.topology import Link, Topology, Vertex

from gpi import trees
from gpi.cases import PCIE, SPREAD, STOCK, TOPOLOGY, TREE, WIRE, Row
from gpi.programs import Unit, units_of

AMPLE = 1e12  # bytes a second of what never binds
LATENCY = 100e-9


def simulated(strategy: str, layers: list[Row], seconds: float, gpus: int) -> StepSimulation:
    """AlexNet's step, which takes one GPU `seconds`, shared by so many GPUs of the node."""
    units = units_of(layers, seconds / gpus, TREE)
    if strategy == STOCK:
        return weft.simulate_step(_stock(units), node(gpus, processes=False), model="plain")
    program = _trees(units, strategy == SPREAD, gpus)
    return weft.simulate_step(program, node(gpus, processes=True), model="plain")


def node(gpus: int, processes: bool) -> Topology:
    """The node above. Its ranks are the GPUs, then their processes if wanted."""
    cards = range(-(-gpus // 2))
    names = ["root", "hca", *(f"{kind}{card}" for kind in ("card", "slot") for card in cards)]
    names += [f"{kind}{gpu}" for kind in ("gpu", "way", "host") for gpu in range(gpus)]
    links = [(f"card{card}", f"slot{card}", PCIE) for card in cards]
    links += [(f"slot{card}", "root", AMPLE) for card in cards]
    for gpu in range(gpus):
        links += [(f"gpu{gpu}", f"card{gpu // 2}", PCIE), (f"slot{gpu // 2}", f"way{gpu}", AMPLE),
                  (f"way{gpu}", f"host{gpu}", AMPLE), (f"host{gpu}", "hca", AMPLE)]  # fmt: skip
    ranks = [f"{kind}{gpu}" for kind in ("gpu", "host")[: 1 + processes] for gpu in range(gpus)]
    shared = {"hca": WIRE}
    host = weft.topology.load(TOPOLOGY, nodes=1)
    return Topology(
        "one node",
        [Vertex(name, 0, bandwidth=shared.get(name, 0.0)) for name in names],
        [Link(names.index(a), names.index(b), LATENCY, rate) for a, b, rate in links],
        [names.index(name) for name in ranks],
        copy=host.copy if processes else 0.0,  # sums of GPUs take no time
        reduce=host.reduce if processes else 0.0,
    )


def _stock(units: list[Unit]) -> list[Operation]:
    """Compute all; then GPUs send to each other, up and down a binomial tree."""
    nbytes = sum(part.bytes for unit in units for part in unit.parts)
    up = Collective("sum", "reduce/binomial", nbytes, chunk=nbytes)
    down = Collective("new", "broadcast/knomial", nbytes, chunk=nbytes, after=("sum",))
    return [Compute(sum(unit.forward + unit.backward for unit in units)), up, down, Wait("new")]


def _trees(units: list[Unit], spread: bool, gpus: int) -> list[list[Operation]]:
    """Of the GPUs, which compute, and of the processes, which exchange."""
    forward: list[Operation] = []
    exchange: list[Operation] = []
    backward: list[Operation] = []
    for unit in units:
        forward += [Wait(f"up{part.name}") for part in unit.parts]
        forward.append(Compute(unit.forward, "forward"))
    for unit in reversed(units):
        own = [one for part in unit.parts for one in _layer(part.name, part.bytes, gpus)]
        backward += [Compute(unit.backward, "backward"), *own]
        exchange += own
    if not spread:
        waits = [operation for operation in forward if isinstance(operation, Wait)]
        rest = [one for one in [*forward, *backward] if isinstance(one, Compute)]
        return [[*rest, *exchange, *waits]] * gpus + [exchange] * gpus
    return [[*forward, *backward]] * gpus + [exchange] * gpus


def _layer(name: str, nbytes: int, gpus: int) -> list[Collective]:
    """Down from the GPUs, up and down the trees, up to the GPUs."""
    steps: list[tuple[str, Callable[[Any], None]]] = [
        ("down", lambda b: _copy(b, range(gpus), gpus)),
        ("sum", lambda b: trees.write_up(b, gpus, gpus)),
        ("new", lambda b: trees.write_down(b, gpus, gpus)),
        ("up", lambda b: _copy(b, range(gpus, 2 * gpus), -gpus)),
    ]
    found: list[Collective] = []
    for priority, (what, write) in enumerate(steps):
        kind = "reduce" if what == "sum" else "broadcast"
        after = (found[-1].name,) if found else ()
        found.append(Collective(f"{what}{name}", _plan(f"{kind}/{what}", gpus, write), nbytes,
                                chunk=nbytes, symmetric=True, priority=priority,
                                after=after))  # fmt: skip
    return found


def _plan(name: str, gpus: int, write: Callable[[Any], None]) -> weft.plan.Plan:
    """A plan of GPUs and processes, of which some do nothing."""
    kind, programs = name.partition("/")[0], []
    for rank in range(2 * gpus):
        builder = weft.plan.Builder(rank, weft.plan.PlanShape(name, kind, 2 * gpus))
        write(builder)
        programs.append(builder.finish())
        shape = builder.shape  # with the channels
    return weft.plan.Plan(shape, programs)


def _copy(b: Any, sources: range, distance: int) -> None:
    """Each of `sources` sends to the rank at that distance, straight into its output."""
    channel = b.channel(slots=2)
    with b.chunks():
        if b.rank in sources:
            target = b.rank + distance
            b.put(b.input(), target, channel, dst=b.output_of(target))
        else:
            source = b.rank - distance
            b.wait(source, channel, of=b.output())
            b.copy([b.output()], b.slot(source, channel))
            b.credit(source, channel, of=b.output())
