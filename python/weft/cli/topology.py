"""`weft topology`: shows a cluster as the cost model sees it."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from weft.errors import WeftError

_EPILOG = """\b
Examples:
  weft topology tsubame3 --nodes 64
  weft topology cluster.yaml --json
  weft topology tsubame3 --nodes 4 --simgrid tsubame3.xml
  weft topology --measure --output here.yaml
  torchrun --nproc-per-node 4 -m weft topology --job --output job.yaml
"""


def described(topology: Any) -> dict[str, Any]:
    """Everything that `weft topology` shows, as one JSON object: seconds, bytes a second, watts."""
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
        "call": topology.call,
        "by_size": [
            {word: getattr(one, word) for word in ("bytes", "copy", "reduce", "fetch", "store")}
            for one in topology.by_size
        ],
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
@click.argument("source", metavar="NAME|FILE", required=False)
@click.option("--nodes", type=click.IntRange(1), help="Nodes, instead of the number in the file.")
@click.option("--measure", "measures", is_flag=True, help="Measure this machine, in some seconds.")
@click.option(
    "--job", is_flag=True, help="Measure the ranks of a job: each runs this, rank 0 shows it."
)
@click.option(
    "--ranks", type=click.IntRange(2), help="Ranks to measure; default: one for each core."
)
@click.option(
    "--rounds", type=click.IntRange(1), default=5, show_default=True,
    help="Rounds of measuring, each with fresh processes; medians count.",
)  # fmt: skip
@click.option(
    "--output", type=click.Path(dir_okay=False, writable=True, path_type=Path), metavar="FILE",
    help="Write the measured topology as YAML, instead of showing it.",
)  # fmt: skip
@click.option(
    "--simgrid", type=click.Path(dir_okay=False, writable=True, path_type=Path), metavar="FILE",
    help="Write a platform of SimGrid, for smpirun.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object to standard output.")
def topology(
    source: str | None,
    nodes: int | None,
    measures: bool,
    job: bool,
    ranks: int | None,
    rounds: int,
    output: Path | None,
    simgrid: Path | None,
    as_json: bool,
) -> None:
    """Shows a topology: a shipped one, by name, or a file (docs/topology.md).

    --measure measures this machine: latencies and bandwidths between processes on its cores, and
    the rates of copies and reductions. --job measures the nodes of a job, which a launcher starts,
    and the network between them.
    """
    from weft.topology import load
    from weft.topology.simgrid import write_platform

    if [measures, job, source is not None].count(True) != 1:
        raise click.UsageError("give a name or a file, or --measure, or --job")
    if source is None and simgrid:
        raise click.UsageError("--simgrid goes with a name or a file")
    if (ranks and not measures) or (output and source is not None):
        raise click.UsageError("--ranks goes with --measure, --output with --measure or --job")
    try:
        if measures:
            known = _measured(ranks, rounds, output)
        elif job:
            seen = _of_job(output)
            if seen is None:
                return
            known = seen
        else:
            found = load(source or "", nodes=nodes)
            if simgrid:
                write_platform(found, simgrid)
            known = described(found)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps(known))
    elif output:
        click.echo(f"{output}: {known['ranks']} ranks; see it with `weft topology {output}`")
    else:
        _show(known)


def _measured(ranks: int | None, rounds: int, output: Path | None) -> dict[str, Any]:
    from weft.bench.processes import BurstFailed
    from weft.topology.measure import measure, text_of, topology_from

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measuring", total=rounds)
        try:
            found = measure(
                ranks or len(os.sched_getaffinity(0)), rounds,
                lambda done, _: bar.update(task, completed=done),
            )  # fmt: skip
        except BurstFailed as failed:
            raise click.ClickException(str(failed)) from None
    if output:
        output.write_text(text_of(found))
    return described(topology_from(found))


def _of_job(output: Path | None) -> dict[str, Any] | None:
    """The text of rank 0; None on the others."""
    import weft

    with weft.init() as comm:
        found = comm.topology()
        rank = comm.rank
    if rank != 0:
        return None
    if output:
        notes = [f"Measured by `weft topology --job`, weft {weft.__version__}."]
        output.write_text(weft.topology.text_of(found, notes=notes))
    return described(found)


def _show(known: dict[str, Any]) -> None:
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
    if known["by_size"]:
        console.print(_by_size(known["by_size"]))
    elif known["copy"] or known["reduce"]:
        console.print(f"copy {_rate(known['copy'])}, reduce {_rate(known['reduce'])}")
    if known["step"] or known["call"]:
        console.print(f"step {_seconds(known['step'])}, call {_seconds(known['call'])}")


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


def _by_size(rates: list[dict[str, float]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("buffers of a rank", "copy", "reduce", "fetch", "store"):
        table.add_column(title, justify="right")
    for one in rates:
        words = (_rate(one[word]) for word in ("copy", "reduce", "fetch", "store"))
        table.add_row(f"{one['bytes'] / 2**20:g} MiB", *words)
    return table


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e9:.4g} ns" if seconds < 1e-6 else f"{seconds * 1e6:.4g} us"


def _rate(rate: float) -> str:
    return f"{rate / 1e9:.4g} GB/s"
