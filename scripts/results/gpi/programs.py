"""A rank's training step by strategy, as a program for `weft.simulate_step`.

    forward    wait up1, compute 1, wait up2, compute 2, ...
    backward   ..., compute 2, down2 -> new2 -> up2, compute 1, down1 -> new1 -> up1

Gradients are copied down to the host before a collective, and what comes of it up to the GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.steps import Collective, Compute, Copy, Operation, Wait

from gpi.cases import (
    ALLREDUCE,
    CHUNK,
    CUT,
    FORWARD,
    LANES,
    PCIE,
    PHASES,
    PIECE,
    PIPED,
    SHARDED,
    TREE,
    Row,
)  # fmt: skip
from gpi.trees import DOWN, UP


@dataclass(frozen=True)
class Part:
    """Gradients that travel together."""

    name: str
    bytes: int
    lane: int = 0


@dataclass(frozen=True)
class Unit:
    """A layer, or several that are in one bucket."""

    parts: list[Part]
    forward: float
    """Seconds, as `backward`."""
    backward: float


@dataclass(frozen=True)
class Platform:
    """What a node has beside the network."""

    gpu: bool = True
    """Whether a GPU computes, so that gradients and models are copied over PCIe."""
    pcie: float = PCIE
    engines: int = LANES
    """That copy up. Each copies in the order of the starts, so one lets no layer overtake."""
    allreduce: str = "allreduce"
    """The plan: what Weft selects, or one by its name."""


def units_of(
    layers: list[Row], seconds: float, strategy: str, forward: float = FORWARD,
    time: str = "products",
) -> list[Unit]:  # fmt: skip
    """The buckets or layers of a network that takes `seconds` a step, in forward order.

    A layer takes its share of the time by its products (or by what `time` names).
    """
    whole = sum(layer[time] for layer in layers)
    groups: dict[int, list[Row]] = {}
    for number, layer in enumerate(layers):
        groups.setdefault(number if strategy == TREE else layer["bucket"], []).append(layer)
    made = []
    for number, own in enumerate(groups.values()):
        taken = seconds * sum(layer[time] for layer in own) / whole
        nbytes = sum(layer["bytes"] for layer in own)
        parts = _parts(str(number), nbytes, own[0]["lane"], PIECE if strategy == CUT else nbytes)
        made.append(Unit(parts, taken * forward, taken * (1 - forward)))
    return made


def _parts(name: str, nbytes: int, lane: int, most: int) -> list[Part]:
    sizes = [min(most, nbytes - start) for start in range(0, nbytes, most)]
    return [Part(f"{name}.{number}", size, lane) for number, size in enumerate(sizes)]


def program(strategy: str, units: list[Unit], platform: Platform) -> list[Operation]:
    """All ranks have the same one."""
    if strategy == PHASES:
        return _phases(units, platform)
    step = _forward(units, platform) + _backward(strategy, units, platform)
    return step + (_gathered(units, platform) if strategy == SHARDED else [])


def _phases(units: list[Unit], platform: Platform) -> list[Operation]:
    """Compute all, then exchange all, then go on."""
    seconds = sum(unit.forward + unit.backward for unit in units)
    whole = Part("", sum(part.bytes for unit in units for part in unit.parts))
    return [
        Compute(seconds),
        *_down(whole, platform),
        *_exchange(ALLREDUCE, whole, platform),
        *_up(whole, platform),
        Wait(_last(whole, platform)),
    ]


def _forward(units: list[Unit], platform: Platform) -> list[Operation]:
    found: list[Operation] = []
    for unit in units:
        found += [Wait(_last(part, platform)) for part in unit.parts]
        found.append(Compute(unit.forward, "forward"))
    return found


def _backward(strategy: str, units: list[Unit], platform: Platform) -> list[Operation]:
    found: list[Operation] = []
    for unit in reversed(units):
        found.append(Compute(unit.backward, "backward"))
        for part in unit.parts:
            found += _down(part, platform) + _exchange(strategy, part, platform)
            found += _up(part, platform) if strategy != SHARDED else []
    return found


def _exchange(strategy: str, part: Part, platform: Platform) -> list[Operation]:
    """What starts once the gradient is there. `new` is its end, except with "sharded"."""
    first, last = f"sum{part.name}", f"new{part.name}"
    after = (f"down{part.name}",) if platform.gpu else ()
    priority = LANES - part.lane
    if strategy == SHARDED:
        return [Collective(first, "reduce_scatter", part.bytes, symmetric=True,
                           priority=priority, after=after)]  # fmt: skip
    if strategy in (ALLREDUCE, CUT):
        return [Collective(last, platform.allreduce, part.bytes, symmetric=True,
                           priority=priority, after=after)]  # fmt: skip
    chunk = CHUNK if strategy == PIPED else part.bytes
    return [
        Collective(first, UP, part.bytes, chunk=chunk, symmetric=True, after=after),
        Collective(last, DOWN, part.bytes, chunk=chunk, symmetric=True, priority=1, after=(first,)),
    ]


def _gathered(units: list[Unit], platform: Platform) -> list[Operation]:
    """Waits for all gradients, as "sharded" does, and gathers what the shards then have."""
    parts = [part for unit in units for part in unit.parts]
    found: list[Operation] = [Wait(f"sum{part.name}") for part in parts]
    for part in parts:
        found.append(Collective(f"new{part.name}", "allgather", part.bytes, symmetric=True,
                                priority=LANES - part.lane))  # fmt: skip
        found += _up(part, platform)
    return found


def _last(part: Part, platform: Platform) -> str:
    return f"up{part.name}" if platform.gpu else f"new{part.name}"


def _down(part: Part, platform: Platform) -> list[Operation]:
    copy = Copy(f"down{part.name}", part.bytes / platform.pcie, engine="down")
    return [copy] if platform.gpu else []


def _up(part: Part, platform: Platform) -> list[Operation]:
    engine, after = f"up{part.lane % platform.engines}", (f"new{part.name}",)
    copy = Copy(f"up{part.name}", part.bytes / platform.pcie, engine=engine, after=after)
    return [copy] if platform.gpu else []
