"""A topology as a file, which `weft.topology.load` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft._core import Topology

Spread = Mapping[tuple[object, ...], Sequence[float]]
"""What stands beside a figure, by where it is: ("rates", word), ("by_size", bytes, word) or
("link", a, b, word), with the vertices that a link joins."""


def text_of(topology: Topology, *, notes: Sequence[str] = (), spread: Spread | None = None) -> str:
    """The text of the file, with four digits of each figure.

    Vertices are told apart by their names. All are written out as one node without a network.
    `notes` are comments at the top; of the figures in `spread` the least and the greatest follow.
    """
    beside = spread or {}
    lines = [
        *(f"# {note}" for note in notes),
        f"name: {topology.name}",
        f"ports: {'one' if topology.one_port else 'many'}",
        "rates:",
        *(f"  {line}" for line in _rates(topology, beside)),
        "node:",
        *(f"  {line}" for line in _vertices(topology)),
    ]
    if topology.links:
        lines += ["  links:", *(f"    {line}" for line in _links(topology, beside))]
    return "\n".join(lines) + "\n"


def _rates(topology: Topology, spread: Spread) -> list[str]:
    lines = [
        _line(word, getattr(topology, word), spread.get(("rates", word)))
        for word in ("copy", "reduce", "step", "call")
    ]
    if topology.by_size:
        lines.append("by_size:")
    for one in topology.by_size:
        lines.append(f"  - bytes: {one.bytes / 1024:g} KiB")
        lines += [
            f"    {_line(word, getattr(one, word), spread.get(('by_size', one.bytes, word)))}"
            for word in ("copy", "reduce", "fetch", "store")
        ]
    return lines


def _vertices(topology: Topology) -> list[str]:
    ranks = topology.ranks
    vertices = list(enumerate(topology.vertices))
    lines = ["ranks:", *(f"  {_place(topology.vertices[rank])}" for rank in ranks)]
    switches = [vertex for number, vertex in vertices if number not in set(ranks)]
    return lines + (["switches:", *(f"  {_place(one)}" for one in switches)] if switches else [])


def _place(vertex: Any) -> str:
    parts = [
        *([f"node: {vertex.node}"] if vertex.node >= 0 else []),
        *([f"socket: {vertex.socket}"] if vertex.socket >= 0 else []),
        *([f"latency: {_figure('latency', vertex.latency)}"] if vertex.latency else []),
        *([f"bandwidth: {_figure('bandwidth', vertex.bandwidth)}"] if vertex.bandwidth else []),
    ]
    return f"{vertex.name}: {{{', '.join(parts)}}}"


def _links(topology: Topology, spread: Spread) -> list[str]:
    names = [vertex.name for vertex in topology.vertices]
    lines = []
    for link in topology.links:
        lines.append(f"- between: [{names[link.a]}, {names[link.b]}]")
        words = ("latency", "bandwidth", *(["overhead"] if link.overhead else []))
        lines += [
            f"  {_line(word, getattr(link, word), spread.get(('link', link.a, link.b, word)))}"
            for word in words
        ]
        lines += [] if link.full_duplex else ["  duplex: half"]
        lines += [] if link.shared else ["  shared: no"]
        lines += ["  memory: yes"] if link.memory else []
        if link.idle_watts or link.busy_watts:
            lines.append(f"  watts: [{link.idle_watts:g}, {link.busy_watts:g}]")
    return lines


_SECONDS = ("latency", "overhead", "step", "call")


def _line(word: str, value: float, seen: Sequence[float] | None) -> str:
    if not seen:
        return f"{word}: {_figure(word, value)}"
    factor, _ = _unit(word, value)
    least, most = (f"{factor * one:.4g}" for one in (min(seen), max(seen)))
    return f"{word}: {_figure(word, value)}  # [{least}, {most}]"


def _figure(word: str, value: float) -> str:
    factor, unit = _unit(word, value)
    return f"{factor * value:.4g} {unit}"


def _unit(word: str, value: float) -> tuple[float, str]:
    if word not in _SECONDS:
        return 1e-9, "GB/s"
    return (1e9, "ns") if value < 1e-6 else (1e6, "us")
