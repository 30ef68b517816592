"""`weft tune`: finds the best algorithm for each call, and writes the tuning file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Shown

from weft.cli.algorithms import RankCounts
from weft.errors import WeftError
from weft.sizes import parse_size
from weft.traits import TRAITS

if TYPE_CHECKING:
    from weft._core import Topology
    from weft.tune.table import Table
    from weft.tune.trial import Measure, Outcome, Point

TUNED = tuple(one.name for one in TRAITS.values() if one.moves_data and not one.is_pair)
_TABLE_WIDTH = 108  # at least, also where no terminal says how wide it is
_SIZES = "8,4K,16K,64K,256K,1M,4M,25M"

_EPILOG = """\b
Examples:
  weft tune
  weft tune --ranks 2,4 --collectives allreduce,broadcast --bytes 8,1M --output tuning.json
  weft tune --topology tsubame3 --ranks 64,256 --collectives allreduce --output tsubame3.json
"""


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> list[int]:
    try:
        return sorted({parse_size(part) for part in text.split(",")})
    except WeftError as error:
        raise click.BadParameter(str(error)) from None


def _words(known: tuple[str, ...]) -> Callable[..., list[str]]:
    def convert(context: click.Context, parameter: click.Parameter, text: str) -> list[str]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        if unknown := [word for word in words if word not in known]:
            raise click.BadParameter(f"{', '.join(unknown)}: there are {', '.join(known)}")
        return [word for word in known if word in words]

    return convert


@click.command(epilog=_EPILOG)
@click.option("--ranks", type=RankCounts(), help="Rank counts; default: 2, 4, ... up to the cores.")
@click.option(
    "--collectives", default=",".join(TUNED), callback=_words(TUNED), metavar="LIST",
    help="Collectives to tune; default: all.",
)  # fmt: skip
@click.option(
    "--bytes", "sizes", default=_SIZES, show_default=True, callback=_sizes, metavar="LIST",
    help="Bytes of the whole message, as nccl-tests count; K is 1024.",
)  # fmt: skip
@click.option(
    "--memory", default="ordinary,symmetric", show_default=True,
    callback=_words(("ordinary", "symmetric")), metavar="LIST", help="Memory of the buffers.",
)  # fmt: skip
@click.option(
    "--topology", metavar="NAME|FILE", help="Price on this topology instead of measuring."
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Tuning file; default: your own, ~/.config/weft/tuning.json.",
)  # fmt: skip
@click.option("--fresh", is_flag=True, help="Start again and ignore the file's rows.")
@click.option(
    "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
    help="Also write one JSON object a line, for each point found now; - is standard output.",
)  # fmt: skip
def tune(**options: Any) -> None:
    """Measures which algorithm, parameters and chunk are best for each collective on this machine.

    A point is a collective, a size, a number of ranks and a kind of memory. For each point the
    candidates run in turn, in fresh processes, as in `weft bench`. Candidates that are far behind
    are dropped early. The best meet the built-in choice in a final. The built-in choice stays,
    unless it loses every turn, and the median by 3%.

    Tuning takes some minutes for two ranks. Communicators then use the file (docs/selection.md),
    and `weft explain` shows what it says. The file is written after every point, so tune can be
    stopped and started again.

    Exit status: 0, 1 if a rank fails, 130 after Ctrl-C.
    """
    console = Console(stderr=True)
    try:
        _tune(console, **options)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        console.print("stopped; what was found is in the file, and the same command goes on there")
        sys.exit(130)


def _tune(console: Console, **options: Any) -> None:
    from weft.topology import load
    from weft.tune import forget_user_choices
    from weft.tune.measure import measure
    from weft.tune.predict import Predict
    from weft.tune.table import Table, default_file, this_machine

    forget_user_choices()
    topology = load(options["topology"]) if options["topology"] else None
    take: Measure = measure if topology is None else Predict(topology)
    how = "measured" if topology is None else "predicted"
    path = options["output"] or default_file()
    table = Table.open(path, this_machine(), fresh=options["fresh"])
    points = list(_points(options, topology))
    left = [point for point in points if not table.has(point, how)]
    if len(left) < len(points):
        console.print(f"{path} has {len(points) - len(left)} of {len(points)} points already")
    found = []
    for point, outcome in _found(console, left, topology, take):
        table.add(point, outcome, how)
        table.save(path)
        found.append((point, outcome))
        _write(options["json_file"], point, outcome, how)
    _show(console, found, path, table)


def _points(options: dict[str, Any], topology: Topology | None) -> Iterator[Point]:
    from weft.tune.explain import nodes_of
    from weft.tune.trial import Point

    for ranks in options["ranks"] or _usual_ranks(topology):
        for memory in options["memory"]:
            for collective in options["collectives"]:
                sizes = [tuple(options["sizes"])]  # one choice where ranks may see different ones
                if TRAITS[collective].has_known_size:
                    sizes = [(size,) for size in options["sizes"]]
                for some in sizes:
                    nodes = nodes_of(topology, ranks)
                    yield Point(collective, ranks, nodes, memory == "symmetric", some)


def _usual_ranks(topology: Topology | None) -> list[int]:
    from weft import _core

    most = len(topology.ranks) if topology else _core.system_info()["usable_cores"]
    return [
        1 << power for power in range(1, max(2, most).bit_length()) if 1 << power <= max(2, most)
    ]


def _found(
    console: Console, points: list[Point], topology: Topology | None, take: Measure
) -> Iterator[tuple[Point, Outcome]]:
    from weft import _core
    from weft.bench.processes import BurstFailed
    from weft.tune.candidates import algorithms
    from weft.tune.trial import compete

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    # Drawn between bursts only: a clock that ticks would take the core from a rank.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=len(points))
        for point in points:
            bar.update(task, description=point.text(), refresh=True)
            size = point.sizes[0]
            builtin = str(_core.select(point.collective, point.ranks, size).choice)
            try:
                names = algorithms(
                    point.collective, point.ranks, symmetric=point.symmetric, topology=topology
                )
                yield point, compete(point, builtin, names, take)
            except BurstFailed as error:
                raise click.ClickException(f"{point.text()}: {error}") from None
            bar.advance(task)


def _write(file: IO[str] | None, point: Point, outcome: Outcome, how: str) -> None:
    if file is None:
        return
    known = {
        "collective": point.collective, "ranks": point.ranks, "nodes": point.nodes,
        "symmetric": point.symmetric, "bytes": point.sizes, "use": outcome.use,
        "built_in": outcome.builtin, "gain": round(outcome.gain, 4), "how": how,
    }  # fmt: skip
    file.write(json.dumps(known) + "\n")
    file.flush()


def _show(console: Console, found: list[tuple[Point, Outcome]], path: Path, table: Table) -> None:
    changed = [(point, outcome) for point, outcome in found if outcome.use != outcome.builtin]
    if changed:
        shown = Shown(box=box.SIMPLE_HEAD)
        for name in ("collective", "ranks", "bytes", "memory", "built-in", "better"):
            shown.add_column(name, no_wrap=True)
        shown.add_column("times faster", justify="right")
        for point, outcome in changed:
            shown.add_row(
                point.collective, str(point.ranks), point.sizes_text(), point.memory,
                outcome.builtin.partition("/")[2], outcome.use.partition("/")[2],
                f"{outcome.gain:.2f}",
            )  # fmt: skip
        Console(stderr=True, width=max(console.width, _TABLE_WIDTH)).print(shown)
    console.print(
        f"{len(found)} points found, {len(changed)} of them better than built in; "
        f"{path} has {len(table.rows)} rows"
    )
