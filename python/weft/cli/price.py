"""`weft price`: what an algorithm costs on a topology."""

from __future__ import annotations

import json
from typing import IO, Any

import click

from weft.cli.algorithms import parameters_text
from weft.cli.calls import answer, call, call_options, place
from weft.errors import WeftError
from weft.sizes import size_text

_EPILOG = """\b
Examples:
  weft price allreduce/ring --topology tsubame3 --ranks 256 --bytes 32M
  weft price knomial --param radix=4 --topology cluster.yaml --bytes 1M --json price.json
  weft price ta_pc --topology rx1 --placement scattered --bytes 64M
"""
_FOUND = ("fitted", "chunk", "seconds", "messages", "bytes", "depth", "busiest", "busy")


@click.command(epilog=_EPILOG)
@call_options
def price(algorithm: str, json_file: IO[str] | None, **asked: Any) -> None:
    """Prices ALGORITHM: says how long its plan takes on a topology, without running it."""
    from weft.cost import price

    try:
        topology = place(asked)
        found = price(algorithm, topology, **call(asked))
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    known = answer({"algorithm": algorithm, **asked}, topology, found, _FOUND)
    if json_file:
        json_file.write(json.dumps(known) + "\n")
        return
    click.echo(
        f"{algorithm}, {known['ranks']} ranks, {size_text(asked['nbytes'])} on {topology.name}: "
        f"{found.seconds * 1e6:.6g} us\n"
        + (f"of the topology: {parameters_text(found.fitted)}\n" if found.fitted else "")
        + f"chunks of {size_text(found.chunk)}, {found.messages} messages, "
        f"{found.depth} of them one after the other\n"
        f"busiest: {found.busiest or 'nothing'}, {found.busy * 1e6:.6g} us"
    )
