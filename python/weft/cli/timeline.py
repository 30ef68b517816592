"""`weft timeline`: what a recorded training step says of its communication."""

from __future__ import annotations

import json
from typing import Any

import click

from weft.errors import WeftError

_EPILOG = """\b
Examples:
  weft timeline step.json
  weft timeline step.json --out step.png --json layers.json
"""


@click.command(epilog=_EPILOG)
@click.argument("trace", type=click.Path(dir_okay=False), metavar="TRACE.json")
@click.option(
    "--out", "picture", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
    help="Draw the ranks' tracks (png, svg, pdf); needs matplotlib.",
)  # fmt: skip
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
    help="Write exposed and hidden milliseconds by layer for each rank.",
)  # fmt: skip
def timeline(trace: str, picture: str | None, json_file: str | None) -> None:
    """Says how much communication of each layer was exposed and how much was hidden.

    TRACE.json is what `with weft.train.timeline("TRACE.json"):` wrote. Exposed: the program's
    thread waited for a collective. Hidden: it computed meanwhile. Times are of a step, the mean of
    all steps and ranks. Perfetto (ui.perfetto.dev) shows the same file.
    """
    from weft.train.tracing.trace import read_trace

    try:
        read = read_trace(trace)
        if picture:
            from weft.train.tracing.picture import draw

            draw(read, picture)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    summary = _summary(read)
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
            file.write("\n")
    _print(summary)


def _summary(read: Any) -> dict[str, Any]:
    """All that the trace says, in total over its steps."""
    ranks = []
    for rank in range(len(read.slices)):
        layers = [layer._asdict() for layer in read.layers(rank)]
        ranks.append({
            "rank": rank,
            "compute_ms": read.total_ms(rank, "compute"),
            "wait_ms": read.total_ms(rank, "wait"),
            "exposed_ms": sum(layer["exposed_ms"] for layer in layers),
            "hidden_ms": sum(layer["hidden_ms"] for layer in layers),
            "clock_error_us": read.clock_error_us[rank],
            "layers": layers,
        })  # fmt: skip
    return {"steps": read.steps, "ranks": ranks}


def _print(summary: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    ranks = summary["ranks"]
    count = max(1, summary["steps"]) * len(ranks)
    by_layer: dict[str, list[float]] = {}
    for rank in ranks:
        for layer in rank["layers"]:
            sums = by_layer.setdefault(layer["name"], [0.0, 0.0, 0.0])
            for at, name in enumerate(("bytes", "exposed_ms", "hidden_ms")):
                sums[at] += layer[name]
    table = Table("layer", "bytes", "exposed ms", "hidden ms", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    rows = [*by_layer.items()]
    rows.append(("all", [sum(sums[at] for _, sums in rows) for at in range(3)]))
    for name, (size, exposed, hidden) in rows:
        each = f"{size / count:.0f}", f"{exposed / count:.3f}", f"{hidden / count:.3f}"
        table.add_row(name, *each)
    error = max(rank["clock_error_us"] for rank in ranks)
    click.echo(
        f"{summary['steps']} steps on {len(ranks)} ranks; clocks agree to {error:.0f} µs; a step:"
    )
    Console(width=100).print(table)
