"""`weft bench`: measures a collective, and other libraries beside it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from weft.bench.cases import COLLECTIVES, ITEM_BYTES, Case, parse_size
from weft.errors import WeftError

_TABLE_WIDTH = 108  # at least, also where no terminal says how wide it is

_EPILOG = """\b
Example:
  weft bench allreduce --ranks 2 --sizes 8,4K,1M,25M --api torch --peers gloo \\
      --json allreduce.jsonl --plot allreduce.png
"""


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> list[int]:
    try:
        return [parse_size(part) for part in text.split(",")]
    except WeftError as error:
        raise click.BadParameter(str(error)) from None


def _peers(context: click.Context, parameter: click.Parameter, text: str) -> list[str]:
    peers = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [peer for peer in peers if peer != "gloo"]
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}: the peer this version knows is gloo")
    return peers


@click.command(epilog=_EPILOG)
@click.argument("collective", type=click.Choice(COLLECTIVES))
@click.option("--ranks", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option(
    "--sizes", default="8,4K,1M,25M", show_default=True, callback=_sizes, metavar="LIST",
    help="Bytes of the whole message, as nccl-tests count; K is 1024.",
)  # fmt: skip
@click.option(
    "--dtype", type=click.Choice(list(ITEM_BYTES)), default="float32", show_default=True,
    metavar="NAME",
)  # fmt: skip
@click.option(
    "--api", type=click.Choice(["core", "torch"]), default="core", show_default=True,
    help="Call Weft in C++, or through torch.distributed. Peers are always called through torch.",
)  # fmt: skip
@click.option("--symmetric", is_flag=True, help="Weft's buffers lie in symmetric memory.")
@click.option("--peers", default="", callback=_peers, metavar="LIST", help="Also measure: gloo.")
@click.option("--algorithm", default="", metavar="NAME", help="Instead of what Weft would choose.")
@click.option("--iterations", type=click.IntRange(1), help="Samples a case, instead of --seconds.")
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=2.0, show_default=True,
    help="Time for each case, all libraries together.",
)  # fmt: skip
@click.option(
    "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
    help="One JSON object a line, one line a case and library; - is standard output.",
)  # fmt: skip
@click.option(
    "--plot", "plot_file", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
    help="Latency and bandwidth over size (png, svg, pdf); needs matplotlib.",
)  # fmt: skip
def bench(**options: Any) -> None:
    """Measures COLLECTIVE on a fresh process for each rank of this machine.

    All libraries are measured in one run, in turn. A sample starts with a barrier and counts as
    its slowest rank's time; inputs are rewritten by their owner before each operation, and results
    are compared with the exact values. Up to 4 KiB a sample is the mean of a batch of operations,
    because a clock cannot resolve a single one; rewriting is then part of it.

    Exit status: 0, 1 if a result is wrong or a rank fails, 130 after Ctrl-C.
    """
    console = Console(stderr=True)
    try:
        correct = _bench(console, **options)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        console.print("interrupted; all ranks have been ended")
        sys.exit(130)
    if not correct:
        raise click.ClickException("a library gave wrong results: see the column `correct`")


def _bench(console: Console, **options: Any) -> bool:
    # Imported here: `weft --help` must not wait for them.
    from weft.bench.plot import plot, require_matplotlib
    from weft.bench.results import rows, table

    if options["algorithm"] and options["api"] == "torch":
        raise click.UsageError(
            "--algorithm needs --api core: torch.distributed has no place for it"
        )
    if (options["api"] == "torch" or options["peers"]) and find_spec("torch") is None:
        raise click.UsageError("--api torch and --peers gloo need PyTorch: pip install torch")
    if options["plot_file"] and options["collective"] == "barrier":
        raise click.UsageError("--plot shows times over sizes: a barrier has none")
    if options["plot_file"]:
        require_matplotlib()
    cases = _cases(options)
    found = list(rows(cases, _measure(console, cases, options)))
    if options["json_file"]:
        options["json_file"].writelines(row.json() + "\n" for row in found)
        options["json_file"].flush()
    stderr = _writes_to_stdout(options)
    width = max(Console(stderr=stderr).width, _TABLE_WIDTH)
    Console(stderr=stderr, width=width).print(table(found))
    if options["plot_file"]:
        plot(found, options["plot_file"])
    return all(row.correct for row in found)


def _cases(options: dict[str, Any]) -> list[Case]:
    sizes = [0] if options["collective"] == "barrier" else options["sizes"]
    return [
        Case(
            options["collective"], size, options["ranks"], options["dtype"], options["api"],
            options["symmetric"], options["algorithm"],
        )
        for size in sizes
    ]  # fmt: skip


def _measure(console: Console, cases: list[Case], options: dict[str, Any]) -> list[list[Any]]:
    from weft.bench.messages import Assignment
    from weft.bench.processes import RankFailed, measure

    work = Assignment(
        rank=0, size=options["ranks"], directory="", cases=cases, peers=options["peers"],
        iterations=options["iterations"], seconds=options["seconds"], parent=0,
    )  # fmt: skip
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"{options['collective']}, {len(cases)} sizes", total=len(cases))
        try:
            return measure(work, lambda done: bar.update(task, completed=done))
        except RankFailed as error:
            raise click.ClickException(str(error)) from None


def _writes_to_stdout(options: dict[str, Any]) -> bool:
    return options["json_file"] is not None and options["json_file"].name == "<stdout>"
