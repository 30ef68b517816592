"""`weft explain`: which algorithm a call would run, against which others, and why."""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING, Any

import click
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table as Shown

from weft.bench.cases import ITEM_BYTES
from weft.errors import WeftError
from weft.sizes import parse_size, size_text
from weft.topology.parts import MOST_RANKS
from weft.traits import TRAITS

if TYPE_CHECKING:
    from weft._core import Topology
    from weft.tune.explain import Explained, Question

_CHOSEN = tuple(one.name for one in TRAITS.values() if not one.is_pair)
_SHOWN = 12  # candidates; --all shows the rest

_EPILOG = """\b
Examples:
  weft explain allreduce --bytes 25M
  weft explain broadcast --bytes 1M --ranks 64 --topology rx1
  weft explain allreduce --bytes 25M --topology cluster.json --wire bfloat16
  WEFT_TUNING=tuning.json weft explain allreduce --bytes 1M --ranks 2 --symmetric --json -
"""


def _size(context: click.Context, parameter: click.Parameter, text: str) -> int:
    try:
        return parse_size(text)
    except WeftError as error:
        raise click.BadParameter(str(error)) from None


@click.command(epilog=_EPILOG)
@click.argument("collective", type=click.Choice(_CHOSEN))
@click.option(
    "--bytes", "nbytes", required=True, callback=_size, metavar="SIZE",
    help="Bytes of the whole message, as nccl-tests count; K is 1024.",
)  # fmt: skip
@click.option(
    "--ranks",
    type=click.IntRange(1, MOST_RANKS),
    help="Ranks; default: 2, or all of the topology's.",
)
@click.option("--symmetric", is_flag=True, help="All ranks' buffers are in symmetric memory.")
@click.option("--reproducible", is_flag=True, help="Ask for a reproducible communicator.")
@click.option(
    "--wire", default="", metavar="NAME",
    help="bfloat16: float32 sums cross nodes in it, as with weft.init(wire=...).",
)  # fmt: skip
@click.option(
    "--dtype", type=click.Choice(list(ITEM_BYTES)), default="float32", show_default=True,
    metavar="NAME",
)  # fmt: skip
@click.option("--algorithm", default="", metavar="NAME", help="The algorithm that the call names.")
@click.option(
    "--tuning", default="", metavar="FILE", help="Tuning file; default: WEFT_TUNING, or your own."
)
@click.option(
    "--topology", metavar="NAME|FILE", help="Also show what the cost model predicts there."
)
@click.option("--all", "everyone", is_flag=True, help="Show all candidates, not only the best.")
@click.option(
    "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
    help="Write one JSON object; - is standard output.",
)  # fmt: skip
def explain(json_file: IO[str] | None, everyone: bool, **options: Any) -> None:
    """Says which algorithm COLLECTIVE runs, and why; shows the other candidates and their times.

    Measured times come from the tuning file (`weft tune`), predicted times from the cost model on
    --topology. Nothing is run. docs/selection.md has the rules.
    """
    try:
        found = _explained(**options)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    if json_file:
        json_file.write(json.dumps(found.json()) + "\n")
        return
    _show(found, everyone)


def _explained(topology: str | None, ranks: int | None, **options: Any) -> Explained:
    from weft.topology import load
    from weft.tune.explain import Question
    from weft.tune.explain import explain as why

    place: Topology | None = load(topology) if topology else None
    count = ranks or (len(place.ranks) if place else 2)
    if options["reproducible"] and not TRAITS[options["collective"]].reduces:
        raise click.UsageError(f"--reproducible: {options['collective']} adds nothing up")
    question = Question(ranks=count, topology=place, **options)

    def progress(names: list[str]) -> Any:
        console = Console(stderr=True)
        return track(names, "pricing", console=console, transient=True) if place else names

    return why(question, progress)


def _short(candidate: str) -> str:
    """Without the numbers of long lists, such as trees."""
    return re.sub(r"\[[^]]{24,}\]", "[...]", candidate)


def _microseconds(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _show(found: Explained, everyone: bool) -> None:
    question: Question = found.question
    memory = "symmetric" if question.symmetric else "ordinary"
    click.echo(
        f"{question.collective}, {size_text(question.nbytes)} bytes of {question.dtype}, "
        f"{question.ranks} ranks, {memory} memory"
        f"{', reproducible' if question.reproducible else ''}"
        f"{f', {question.wire} on the wire' if question.wire else ''}:\n"
        f"  {_short(found.chosen)}\n\n{found.reason}\n"
    )
    rows = found.candidates if everyone else found.candidates[:_SHOWN]
    shown = Shown(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("candidate", no_wrap=True)
    timed = [
        (column, head)
        for column, head in (("measured_us", found.measured_head), ("predicted_us", "predicted µs"))
        if any(column in row for row in found.candidates)
    ]
    for _, head in timed:
        shown.add_column(head, justify="right", no_wrap=True)
    shown.add_column("")
    for row in rows:
        times = [_microseconds(row[column]) if column in row else "" for column, _ in timed]
        shown.add_row(_short(row["candidate"]), *times, "<- runs" if row["chosen"] else "")
    Console(width=max(Console().width, 100)).print(shown)
    if len(rows) < len(found.candidates):
        click.echo(f"... and {len(found.candidates) - len(rows)} more: --all")
    for line in [*found.notes, *(f"not a candidate: {line}" for line in found.unsuitable)]:
        click.echo(line)
