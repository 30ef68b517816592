"""`weft price`: what an algorithm costs on a topology."""

from __future__ import annotations

import json
from typing import IO

import click

from weft.bench.cases import parse_size, size_text
from weft.cli.algorithms import Parameter, Placement, parameters_text
from weft.errors import WeftError

_EPILOG = """\b
Examples:
  weft price allreduce/ring --topology tsubame3 --ranks 256 --bytes 32M
  weft price knomial --param radix=4 --topology cluster.yaml --bytes 1M --json price.json
  weft price ta_pc --topology rx1 --placement scattered --bytes 64M
"""


def _size(context: click.Context, parameter: click.Parameter, text: str | None) -> int:
    try:
        return 0 if text is None else parse_size(text)
    except WeftError as error:
        raise click.BadParameter(str(error)) from None


@click.command(epilog=_EPILOG)
@click.argument("algorithm")
@click.option("--topology", required=True, metavar="NAME|FILE", help="docs/topology.md")
@click.option("--nodes", type=click.IntRange(1), help="Instead of the topology's own number.")
@click.option("--ranks", type=click.IntRange(1), help="The first of the topology's; default all.")
@click.option(
    "--placement", type=Placement(), default="natural", show_default=True,
    help="Of these ranks on each other's places: natural, scattered, or each rank's place.",
)  # fmt: skip
@click.option(
    "--bytes", "nbytes", required=True, callback=_size, metavar="SIZE",
    help="Of the whole message, as nccl-tests count; K is 1024.",
)  # fmt: skip
@click.option("--chunk", callback=_size, metavar="SIZE", help="Default: as would be chosen.")
@click.option(
    "--param", "params", type=Parameter(), multiple=True, metavar="NAME=VALUE",
    help="Of the algorithm; node and tree are taken from the topology if not given.",
)  # fmt: skip
@click.option("--dtype", default="float32", show_default=True, metavar="NAME")
@click.option("--symmetric", is_flag=True, help="Outputs lie in symmetric memory.")
@click.option(
    "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
    help="One JSON object; - is standard output.",
)  # fmt: skip
def price(
    algorithm: str,
    topology: str,
    nodes: int | None,
    ranks: int | None,
    placement: str | list[int],
    nbytes: int,
    chunk: int,
    params: tuple[tuple[str, int | str | list[int]], ...],
    dtype: str,
    symmetric: bool,
    json_file: IO[str] | None,
) -> None:
    """Prices ALGORITHM: the critical path of its plan on a topology, without running it."""
    from weft.cost import price
    from weft.topology import load, placed

    try:
        place = placed(load(topology, nodes=nodes), placement, ranks=ranks)
        found = price(
            algorithm, place, nbytes=nbytes, ranks=ranks, params=dict(params), chunk=chunk,
            dtype=dtype, symmetric=symmetric,
        )  # fmt: skip
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    known = {
        "algorithm": algorithm,
        "topology": topology,
        "ranks": ranks or len(place.ranks),
        "nbytes": nbytes,
        "placement": placement,
        "params": dict(params),
        "dtype": dtype,
        **{
            word: getattr(found, word)
            for word in (
                "fitted",
                "chunk",
                "seconds",
                "messages",
                "bytes",
                "depth",
                "busiest",
                "busy",
            )
        },
    }
    if json_file:
        json_file.write(json.dumps(known) + "\n")
        return
    click.echo(
        f"{algorithm}, {known['ranks']} ranks, {size_text(nbytes)} on {place.name}: "
        f"{found.seconds * 1e6:.6g} us\n"
        + (f"of the topology: {parameters_text(found.fitted)}\n" if found.fitted else "")
        + f"chunks of {size_text(found.chunk)}, {found.messages} messages, "
        f"{found.depth} of them one after the other\n"
        f"busiest: {found.busiest or 'nothing'}, {found.busy * 1e6:.6g} us"
    )
