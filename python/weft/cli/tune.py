"""`weft tune`: finds the best algorithm for each call, and writes the tuning file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from weft.cli.algorithms import RankCounts
from weft.cli.tune_quick import run as run_quick
from weft.errors import WeftError
from weft.sizes import parse_size
from weft.traits import TRAITS

if TYPE_CHECKING:
    from weft._core import Topology
    from weft.tune.point import ImpossibleTime, Measure, Point
    from weft.tune.trial import Outcome

TUNED = tuple(one.name for one in TRAITS.values() if one.moves_data and not one.is_pair)
_TABLE_WIDTH = 140  # at least, also where no terminal says how wide it is
_SIZES = "8,4K,16K,64K,256K,1M,4M,25M"

_EPILOG = """\b
Examples:
  weft tune
  weft tune --ranks 2,4 --collectives allreduce,broadcast --bytes 8,1M --output tuning.json
  weft tune --quick
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
@click.option(
    "--quick", is_flag=True,
    help="Measure the model of the machine instead: how slots turn and how long chunks are; "
    "under two minutes. --output then is ~/.config/weft/model.json by default.",
)  # fmt: skip
@click.option("--fresh", is_flag=True, help="Start again and ignore the file's rows.")
@click.option(
    "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
    help="Also write JSON: one object a line for each point found now, and one for all of them; "
    "- is standard output.",
)  # fmt: skip
@click.pass_context
def tune(context: click.Context, **options: Any) -> None:
    """Measures which algorithm, parameters and chunk are best for each collective on this machine.

    A point is a collective, a size, a number of ranks and a kind of memory. All candidates run in
    turn, in fresh processes, as in `weft bench`; those that are far behind are dropped early. The
    quickest then meets the built-in choice in 12 turns of fresh processes. Another choice is
    written only if the median of the turns gains 3%, and more than the noise: 95% of the built-in
    choice's turns against itself.

    The end says what the built-in choices lose (regret: their time over the best one's), and
    whether tuning is worth it. A time that the machine's memory makes impossible is refused, and
    its point is left out.

    Tuning takes some minutes for two ranks. Communicators then use the file (docs/selection.md),
    and `weft explain` shows what it says. The file is written after every point, so tune can be
    stopped and started again.

    --quick tries models of the machine (docs/machine-model.md) on two ranks, each beside the one
    that Weft ships. The best one then meets that in 12 turns of its own. It is written only if it
    gains more than 10% there and both halves of the turns agree within 10%.

    Exit status: 0, 1 if a rank fails or a point is left out, 130 after Ctrl-C.
    """
    console = Console(stderr=True)
    try:
        if options["quick"]:
            _refuse_others(context)
            run_quick(console, options["output"], options["json_file"])
            return
        whole = _tune(console, **options)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        left = (
            "nothing was written"
            if options["quick"]
            else ("what was found is in the file, and the same command goes on there")
        )
        console.print(f"stopped; {left}")
        sys.exit(130)
    if not whole:
        raise click.ClickException("some points were left out: their times cannot be right")


def _refuse_others(context: click.Context) -> None:
    for name in ("ranks", "collectives", "sizes", "memory", "topology", "fresh"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = "bytes" if name == "sizes" else name
            raise click.UsageError(f"--quick measures the whole machine: leave out --{option}")


def _tune(console: Console, **options: Any) -> bool:
    """False if a point was left out."""
    from weft.topology import load
    from weft.tune import forget_user_choices
    from weft.tune.measure import Here
    from weft.tune.point import ImpossibleTime
    from weft.tune.points import points_of
    from weft.tune.predict import Predict
    from weft.tune.shown import known, refused
    from weft.tune.table import Table, default_file, this_machine

    forget_user_choices()
    topology = load(options["topology"]) if options["topology"] else None
    take: Measure = Here() if topology is None else Predict(topology)
    how = "measured" if topology is None else "predicted"
    path = options["output"] or default_file()
    table = Table.open(path, this_machine(), fresh=options["fresh"])
    what = (options["collectives"], options["sizes"], options["memory"])
    points = list(points_of(*what, options["ranks"], topology))
    left = [point for point in points if not table.has(point, how)]
    if len(left) < len(points):
        console.print(f"{path} has {len(points) - len(left)} of {len(points)} points already")
    found = []
    for point, outcome in _found(console, left, topology, take):
        if isinstance(outcome, ImpossibleTime):
            console.print(f"[bold]left out[/]: {point.text()}: {outcome}", highlight=False)
            _write(options["json_file"], refused(point, str(outcome)))
            continue
        table.add(point, outcome, how)
        table.save(path)
        found.append((point, outcome))
        _write(options["json_file"], known(point, outcome, how))
    _show(console, found, options["json_file"])
    console.print(f"{path} has {len(table.rows)} rows")
    return len(found) == len(left)


def _found(
    console: Console, points: list[Point], topology: Topology | None, take: Measure
) -> Iterator[tuple[Point, Outcome | ImpossibleTime]]:
    from weft.bench.processes import BurstFailed
    from weft.tune.candidates import algorithms
    from weft.tune.placement import crowded_here
    from weft.tune.point import ImpossibleTime
    from weft.tune.points import builtin
    from weft.tune.trial import compete

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    # Drawn between bursts only: a clock that ticks would take the core from a rank.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=len(points))
        for point in points:
            bar.update(task, description=point.text(), refresh=True)
            names = algorithms(
                point.collective, point.ranks, symmetric=point.symmetric, topology=topology
            )
            crowded = topology is None and crowded_here(point.ranks)
            try:
                yield point, compete(point, builtin(point, crowded=crowded), names, take)
            except ImpossibleTime as error:
                yield point, error
            except BurstFailed as error:
                raise click.ClickException(f"{point.text()}: {error}") from None
            bar.advance(task)


def _write(file: IO[str] | None, what: dict[str, Any]) -> None:
    if file is not None:
        file.write(json.dumps(what) + "\n")
        file.flush()


def _show(console: Console, found: list[tuple[Point, Outcome]], file: IO[str] | None) -> None:
    """The table, whether the machine was noisy, and in one line what the defaults lose."""
    from weft.bench.noise import note
    from weft.tune.regret import judge
    from weft.tune.shown import table

    if not found:
        console.print("nothing to judge: no point was found now (--fresh starts again)")
        return
    width = max(console.width, _TABLE_WIDTH)
    Console(stderr=True, width=width).print(table(found))
    if noisy := note({point.text(): outcome.tail for point, outcome in found}):
        console.print(noisy, soft_wrap=True)
    judgement = judge(found)
    console.print(judgement.text(), soft_wrap=True)
    _write(file, {"judgement": judgement.json()})
