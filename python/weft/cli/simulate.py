"""`weft simulate`: what an algorithm takes on a topology, in SimGrid."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import click
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from weft.cli.algorithms import parameters_text
from weft.cli.calls import answer, call, call_options, place
from weft.errors import WeftError
from weft.sizes import size_text

_EPILOG = """\b
Examples:
  weft simulate lr_rab --topology tsubame3 --ranks 256 --bytes 32M --energy
  weft simulate pc --topology rx1 --bytes 64M --chunk 512K --model plain --json chain.json
"""
_FOUND = ("fitted", "chunk", "seconds", "joules", "messages", "bytes")


@contextmanager
def _progress() -> Iterator[Callable[[int], None] | None]:
    """Shows messages as they arrive, where somebody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.completed:,} messages"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda messages: bar.update(task, completed=messages)


@click.command(epilog=_EPILOG)
@call_options
@click.option(
    "--energy", is_flag=True, help="Also add up the joules of the links that carry traffic."
)
@click.option(
    "--model", type=click.Choice(["smpi", "plain"]), default="smpi", show_default=True,
    help="smpi: SimGrid's model of MPI, by a message's size; plain: the topology as it is written.",
)  # fmt: skip
def simulate(
    algorithm: str, json_file: IO[str] | None, energy: bool, model: str, **asked: Any
) -> None:
    """Simulates ALGORITHM: runs its plan on a topology in SimGrid, with contention."""
    from weft.simulation import simulate

    try:
        topology = place(asked)
        with _progress() as progress:
            found = simulate(
                algorithm, topology, energy=energy, model=model, progress=progress, **call(asked)
            )
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    known = answer({"algorithm": algorithm, **asked}, topology, found, _FOUND)
    known |= {"energy": energy, "model": model}
    if json_file:
        json_file.write(json.dumps(known) + "\n")
        return
    joules = "" if found.joules is None else f", {found.joules:.6g} J in links"
    click.echo(
        f"{algorithm}, {known['ranks']} ranks, {size_text(asked['nbytes'])} on {topology.name}: "
        f"{found.seconds * 1e6:.6g} us{joules}\n"
        + (f"of the topology: {parameters_text(found.fitted)}\n" if found.fitted else "")
        + f"chunks of {size_text(found.chunk)}, {found.messages} messages; model {model}"
    )
