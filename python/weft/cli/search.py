"""`weft search`: the fastest plan for a call on a topology."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from weft.cli.calls import place_options, size
from weft.errors import WeftError
from weft.sizes import size_text

if TYPE_CHECKING:
    from weft.searching import Found

_EPILOG = """\b
Examples:
  weft search allreduce --topology tsubame3 --ranks 256 --bytes 32M
  weft search broadcast --topology rx1 --bytes 64M --output tuning.json
  WEFT_TUNING=tuning.json python train.py     # runs the winner, on that many ranks
"""


@click.command(epilog=_EPILOG)
@click.argument("collective")
@place_options
@click.option("--dtype", default="float32", show_default=True, metavar="NAME")
@click.option(
    "--slots", "slot_bytes", default="4M", show_default=True, callback=size, metavar="SIZE",
    help="Memory for the slots of a rank. It limits chunks; communicators have 4M. 0: no limit.",
)  # fmt: skip
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True,
    help="How many plans are simulated before the search goes on around the best, and shown.",
)  # fmt: skip
@click.option(
    "--simulate/--no-simulate",
    default=None,
    help="Simulate the best; default: if Weft was built with SimGrid.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Prices and simulations at a time; default: one for each core.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write a tuning file with the winner, for WEFT_TUNING or weft.init(tuning=...).",
)  # fmt: skip
@click.option(
    "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
    help="Write one JSON object; - is standard output.",
)  # fmt: skip
def search(
    collective: str,
    topology: str,
    nodes: int | None,
    placement: str | list[int],
    output: Path | None,
    json_file: IO[str] | None,
    **asked: Any,
) -> None:
    """Finds the fastest plan for one call of COLLECTIVE on a topology.

    The search tries every algorithm that needs no symmetric memory, compositions over nodes with
    all their parameters, and chunks. It goes by price from coarse to fine, and then by simulation
    from the best few on. The winner is proved.
    """
    from weft.searching import save, search
    from weft.topology import load, placed

    try:
        where = placed(load(topology, nodes=nodes), placement, ranks=asked["ranks"])
        with _progress() as progress:
            found = search(collective, where, progress=progress, **asked)
        if output:
            save(found, output)
    except (WeftError, OSError) as error:
        raise click.ClickException(str(error)) from None
    if json_file:
        json_file.write(json.dumps(_as_json(found, topology)) + "\n")
        return
    _show(found, output)


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """Shows how far the search is, where somebody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda text: bar.update(task, description=text)


def _as_json(found: Found, topology: str) -> dict[str, Any]:
    call = found.call
    return {
        "collective": call.collective,
        "topology": topology,
        "ranks": call.ranks,
        "nodes": found.nodes,
        "nbytes": call.nbytes,
        "dtype": call.dtype,
        "slot_bytes": call.slot_bytes,
        "priced": found.priced,
        "simulated": found.simulated,
        "bound": found.bound,
        "proved_ranks": found.proved_ranks,
        "found": [
            {
                "use": str(outcome.candidate),
                "algorithm": outcome.candidate.algorithm,
                "params": outcome.candidate.values(),
                "chunk": outcome.candidate.chunk,
                "priced": outcome.price.seconds,
                "simulated": outcome.simulated,
            }
            for outcome in found.outcomes
        ],
    }


def _show(found: Found, output: Path | None) -> None:
    call, best = found.call, found.best
    click.echo(
        f"{call.collective}, {call.ranks} ranks, {size_text(call.nbytes)} on {call.topology.name}: "
        f"{found.priced} priced, {found.simulated} simulated\n"
        "priced, ms  simulated, ms"
    )
    for outcome in found.outcomes:
        simulated = "" if outcome.simulated is None else f"{outcome.simulated * 1e3:.4g}"
        click.echo(f"{outcome.price.seconds * 1e3:10.4g}  {simulated:>13}  {outcome.candidate}")
    if not found.simulated:
        click.echo("By price alone, not simulated.")
    if found.bound > 0:
        click.echo(
            f"The links take {found.bound * 1e3:.4g} ms in any case; the best is "
            f"{best.seconds / found.bound:.3g} times that."
        )
    click.echo(_proof(found))
    use = f'WEFT_ALGORITHM="{call.collective}={best.candidate}"'
    click.echo(f"To run it: WEFT_TUNING={output}" if output else f"To run it: {use}")


def _proof(found: Found) -> str:
    if found.proved_ranks == found.call.ranks:
        return f"Proved for {found.proved_ranks} ranks."
    return f"Proved with these parameters for {found.proved_ranks} ranks, on fewer nodes."
