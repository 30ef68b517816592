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
    help="Draw with the times of this topology, as `weft price` has them. Without it a message "
    "takes one step, and so does a copy or sum of a block.",
)  # fmt: skip
@click.option(
    "--bytes", "size", callback=_size, metavar="SIZE",
    help="Bytes of the whole message; K is 1024. Without it each block is one chunk.",
)  # fmt: skip
@click.option(
    "--chunk", default="64K", show_default=True, callback=_size, metavar="SIZE",
    help="Bytes of a chunk at most.",
)  # fmt: skip
@_file("svg", "Draw the messages: a column for each rank, time downwards.")
@_file("timeline", "Write a trace for ui.perfetto.dev and chrome://tracing (JSON).")
@_file("html", "Write one page with both pictures, to zoom in; it needs no other file.")
@_file("json", "Write the plan, as `weft.plan.plan_from_json` reads it.")
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
    """Shows the plan of ALGORITHM: as text, or in the files that you name.

    Drawings have the times of the cost model. In them x2[0] is block 0 of rank 2, Σ0-2[1] is the
    sum of block 1 of ranks 0 to 2, and y[3] is a block of the result. The number after a dot is the
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
