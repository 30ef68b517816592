"""`weft topology`: shows a cluster as the cost model sees it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from weft.errors import WeftError

_EPILOG = """\b
Examples:
  weft topology tsubame3 --nodes 64
  weft topology cluster.yaml --json
"""


def described(topology: Any) -> dict[str, Any]:
    """What `weft topology` shows, as one JSON object: seconds, bytes a second, watts."""
    links = Counter(
        (link.latency, link.bandwidth, link.overhead, link.full_duplex, link.shared, link.memory,
         link.idle_watts, link.busy_watts)
        for link in topology.links
    )  # fmt: skip
    names = ("latency", "bandwidth", "overhead", "full_duplex", "shared", "memory", "idle_watts",
             "busy_watts")  # fmt: skip
    vertices, ranks = topology.vertices, topology.ranks
    return {
        "name": topology.name,
        "ranks": len(ranks),
        "nodes": len({vertices[vertex].node for vertex in ranks}),
        "switches": len(vertices) - len(ranks),
        "ports": "one" if topology.one_port else "many",
        "copy": topology.copy,
        "reduce": topology.reduce,
        "step": topology.step,
        "links": [
            {"count": count, **dict(zip(names, kind, strict=True))} for kind, count in links.items()
        ],
        "ways": _ways(topology),
    }


def _ways(topology: Any) -> list[dict[str, Any]]:
    """From rank 0: for each latency and bottleneck, to how many ranks, and the first of them."""
    ranks, links = range(1, len(topology.ranks)), topology.links
    found: dict[tuple[float, float, int], list[int]] = {}
    paths = topology.paths([(0, rank) for rank in ranks])
    latencies = topology.latencies(0)
    for rank, path in zip(ranks, paths, strict=True):
        width = min(links[link].bandwidth for link, _ in path)
        found.setdefault((latencies[rank], width, len(path)), []).append(rank)
    return [
        {"to": to[0], "ranks": len(to), "links": hops, "latency": latency, "bandwidth": width}
        for (latency, width, hops), to in found.items()
    ]


@click.command(epilog=_EPILOG)
@click.argument("source", metavar="NAME|FILE")
@click.option("--nodes", type=click.IntRange(1), help="Instead of the number in the file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def topology(source: str, nodes: int | None, as_json: bool) -> None:
    """Shows a topology: one that comes with Weft, by name, or a file (docs/topology.md)."""
    from weft.topology import load

    try:
        known = described(load(source, nodes=nodes))
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps(known))
        return
    console = Console()
    console.print(
        f"[bold]{known['name']}[/]: {known['ranks']} ranks on {known['nodes']} nodes, "
        f"{known['switches']} switches and sockets, {known['ports']} port"
        f"{'s' if known['ports'] == 'many' else ''} a rank"
    )
    if known["links"]:
        console.print(_links(known["links"]))
    if known["ways"]:
        console.print(_from_rank_0(known["ways"]))


def _links(links: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("links", "latency", "bandwidth", "", "watts idle:busy"):
        table.add_column(title, justify="right")
    for link in links:
        kind = [
            "full duplex" if link["full_duplex"] else "half duplex",
            *([f"overhead {_seconds(link['overhead'])}"] if link["overhead"] else []),
            *([] if link["shared"] else ["not shared"]),
            *(["memory"] if link["memory"] else []),
        ]
        table.add_row(
            str(link["count"]), _seconds(link["latency"]), _rate(link["bandwidth"]),
            ", ".join(kind), f"{link['idle_watts']:g}:{link['busy_watts']:g}",
        )  # fmt: skip
    return table


def _from_rank_0(ways: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("from rank 0 to", "ranks alike", "links", "latency", "bandwidth"):
        table.add_column(title, justify="right")
    for way in ways:
        table.add_row(
            str(way["to"]), str(way["ranks"]), str(way["links"]), _seconds(way["latency"]),
            _rate(way["bandwidth"]),
        )  # fmt: skip
    return table


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e9:g} ns" if seconds < 1e-6 else f"{seconds * 1e6:g} us"


def _rate(rate: float) -> str:
    return f"{rate / 1e9:g} GB/s"
