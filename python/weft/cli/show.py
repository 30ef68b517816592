"""`weft show`: a plan as text, as a picture of its messages, as a timeline."""

from __future__ import annotations

from typing import Any, TextIO

import click

from weft.cli.algorithms import Parameter, algorithms_of
from weft.errors import WeftError
from weft.topology.parts import MOST_RANKS

_EPILOG = """\b
Examples:
  weft show allreduce/ring --ranks 4
  weft show lr --ranks 8 --svg ring.svg --html ring.html
  weft show allreduce/two_shot --ranks 4 --bytes 1M --timeline two_shot.json
  weft show lr_lr --ranks 8 --topology tsubame3 --bytes 1M --html lr_lr.html
"""


def _size(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    from weft.sizes import parse_size

    try:
        return None if text is None else parse_size(text)
    except WeftError as error:
        raise click.BadParameter(str(error)) from None


def _file(name: str, help: str) -> Any:
    kind = click.File("w", lazy=False, encoding="utf-8")
    return click.option(f"--{name}", f"{name}_file", type=kind, metavar="FILE", help=help)


@click.command(epilog=_EPILOG)
@click.argument("algorithm", metavar="ALGORITHM|FILE.py")
@click.option("--ranks", type=click.IntRange(1, MOST_RANKS), default=4, show_default=True)
@click.option(
    "--param", "params", type=Parameter(), multiple=True,
    help="A parameter of the plan; may be given several times.",
)  # fmt: skip
@click.option(
    "--topology", metavar="NAME|FILE",
    help="Drawings have its times, as `weft price`; without it a message, and a copy or sum of a "
    "block, take a step.",
)  # fmt: skip
@click.option(
    "--bytes", "size", callback=_size, metavar="SIZE",
    help="Of the whole message, so that there are chunks; K is 1024. Without it, one a block.",
)  # fmt: skip
@click.option(
    "--chunk", default="64K", show_default=True, callback=_size, metavar="SIZE",
    help="Bytes of a chunk at most.",
)  # fmt: skip
@_file("svg", "The message pattern: a column a rank, time downwards.")
@_file("timeline", "A trace for ui.perfetto.dev and chrome://tracing (JSON).")
@_file("html", "One page with both, to zoom in; it needs no other file.")
@_file("json", "The plan, as `weft.plan.plan_from_json` reads it.")
def show(
    algorithm: str,
    ranks: int,
    params: tuple[tuple[str, int | str | list[int]], ...],
    topology: str | None,
    size: int | None,
    chunk: int,
    svg_file: TextIO | None,
    timeline_file: TextIO | None,
    html_file: TextIO | None,
    json_file: TextIO | None,
) -> None:
    """Shows the plan of ALGORITHM: as text, unless a file is asked for.

    Drawings have the times of the cost model. x2[0] is rank 2's block
    0, Σ0-2[1] the sum of three ranks' block 1, y[3] a block of the result; after a dot stands the
    chunk.
    """
    # Imported here: `weft --help` must not wait for them.
    from weft.cost import fit
    from weft.draw.page import page
    from weft.draw.schedule import run
    from weft.draw.svg import pattern
    from weft.draw.timeline import trace
    from weft.plan import make_plan, plan_to_json

    try:
        chosen = algorithms_of(algorithm)
        if len(chosen) > 1:
            names = ", ".join(one.name for one in chosen)
            raise click.UsageError(f"{algorithm} registers {names}: leave one in it")
        given = chosen[0].preset | dict(params)
        if topology is not None:
            given |= fit(chosen[0].name, topology, ranks=ranks, params=given)
        plan = make_plan(chosen[0].name, ranks, given)
        schedule = run(plan, topology, size, chunk)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    written = {
        svg_file: lambda: pattern(schedule),
        timeline_file: lambda: trace(schedule) + "\n",
        html_file: lambda: page(schedule, chosen[0].summary),
        json_file: lambda: plan_to_json(plan, indent=1) + "\n",
    }
    files = {file: write for file, write in written.items() if file is not None}
    for file, write in files.items():
        file.write(write())
        file.flush()
    if not files:
        click.echo(str(plan), nl=False)
