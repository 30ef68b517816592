"""A topology as a platform file of SimGrid, for programs other than Weft (smpirun)."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

from weft._core import Link, Topology, Vertex

_ENDLESS = 1e18  # bytes a second of what has no limit
_HEAD = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="weft" routing="Full">"""


def write_platform(topology: Topology, file: str | Path) -> None:
    """Writes hosts rank0, rank1 ..., all links, and the way between each two ranks.

    The file grows with the square of the ranks: 20 MB for 256 of them. The rates of ranks, ports
    and a link's overhead are left out: SimGrid does not know them.

    Raises:
        InvalidArgument: nothing joins two of the ranks.
        OSError: the file cannot be written.
    """
    ranks = range(len(topology.ranks))
    links, vertices = topology.links, topology.vertices
    lines = [_HEAD, *(f'<host id="rank{rank}" speed="1Gf"/>' for rank in ranks)]
    lines += [_link(number, link) for number, link in enumerate(links)]
    lines += [_switch(number, vertex) for number, vertex in enumerate(vertices) if _counts(vertex)]
    pairs = [(a, b) for a in ranks for b in ranks if topology.ranks[a] != topology.ranks[b]]
    for (a, b), path in zip(pairs, topology.paths(pairs), strict=True):
        parts = "".join(_parts(path, links, vertices))
        lines.append(f'<route src="rank{a}" dst="rank{b}" symmetrical="NO">{parts}</route>')
    Path(file).write_text("\n".join([*lines, "</zone>", "</platform>", ""]))


def _element(name: str, latency: float, bandwidth: float, policy: str) -> str:
    numbers = f'bandwidth="{bandwidth!r}Bps" latency="{latency!r}s"'
    return f"<link id={quoteattr(name)} {numbers} sharing_policy={quoteattr(policy)}"


def _link(number: int, link: Link) -> str:
    policy = "SPLITDUPLEX" if link.full_duplex else "SHARED"
    text = _element(
        f"link{number}", link.latency, link.bandwidth, policy if link.shared else "FATPIPE"
    )
    share = 2 if link.full_duplex and link.shared else 1
    watts = f"{link.idle_watts / share!r}:{link.busy_watts / share!r}"
    return f'{text}><prop id="wattage_range" value="{watts}"/></link>'


def _counts(vertex: Vertex) -> bool:
    return vertex.latency > 0 or vertex.bandwidth > 0


def _switch(number: int, vertex: Vertex) -> str:
    policy = "SHARED" if vertex.bandwidth else "FATPIPE"
    bandwidth = vertex.bandwidth or _ENDLESS
    return _element(f"switch{number}", vertex.latency, bandwidth, policy) + "/>"


def _parts(path: list[tuple[int, bool]], links: list[Link], vertices: list[Vertex]) -> list[str]:
    parts, at = [], -1  # the vertex between two links
    for number, forward in path:
        link = links[number]
        if at >= 0 and _counts(vertices[at]):
            parts.append(f'<link_ctn id="switch{at}"/>')
        way = f' direction="{"UP" if forward else "DOWN"}"'
        duplex = link.full_duplex and link.shared
        parts.append(f'<link_ctn id="link{number}"{way if duplex else ""}/>')
        at = link.b if forward else link.a
    return parts
