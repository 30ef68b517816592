"""`weft bench`: measures a collective, and other libraries beside it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from weft.bench.cases import ITEM_BYTES, Case
from weft.errors import WeftError
from weft.sizes import parse_size, size_text
from weft.topology.parts import MOST_RANKS
from weft.traits import TRAITS

if TYPE_CHECKING:
    from weft.bench.job import Measured
    from weft.bench.libraries import Library

_TABLE_WIDTH = 108  # at least, also where no terminal says how wide it is

_EPILOG = """\b
Example:
  weft bench allreduce --ranks 2 --sizes 8,4K,1M,25M --peers mpich,intelmpi --limit \\
      --json allreduce.jsonl --plot allreduce.png
"""


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> list[int]:
    try:
        return [parse_size(part) for part in text.split(",")]
    except WeftError as error:
        raise click.BadParameter(str(error)) from None


def _peers(context: click.Context, parameter: click.Parameter, text: str) -> list[str]:
    from weft.bench.libraries import PEERS

    peers = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [peer for peer in peers if peer not in PEERS]
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}: the peers are {', '.join(PEERS)}")
    return peers


@click.command(epilog=_EPILOG)
@click.argument("collective", type=click.Choice(list(TRAITS)))
@click.option(
    "--ranks", type=click.IntRange(1, MOST_RANKS), default=2, show_default=True, help="Processes."
)
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
    help="Call Weft in C++, or through torch.distributed as Gloo always is.",
)  # fmt: skip
@click.option("--symmetric", is_flag=True, help="Weft's buffers are in symmetric memory.")
@click.option(
    "--peers", default="", callback=_peers, metavar="LIST",
    help="Also measure gloo, openmpi, mpich, intelmpi, oneccl; `make peers` installs all but gloo.",
)  # fmt: skip
@click.option("--limit", is_flag=True, help="Also measure the memory accesses alone.")
@click.option(
    "--algorithm", default="", metavar="NAME",
    help="Run this algorithm, also with parameters: ring(chunk=64K).",
)  # fmt: skip
@click.option(
    "--iterations", type=click.IntRange(1), help="Samples of each case, instead of --seconds."
)
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True,
    help="Time for each case and library, all rounds together.",
)  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(1), default=5, show_default=True, help="Rounds of a run."
)
@click.option(
    "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
    help="Write one JSON object a line, for each case and library; - is standard output.",
)  # fmt: skip
@click.option(
    "--plot", "plot_file", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
    help="Draw latency and bandwidth over size (png, svg, pdf); needs matplotlib.",
)  # fmt: skip
def bench(**options: Any) -> None:
    """Measures COLLECTIVE with fresh processes on this machine, one for each rank.

    A run has rounds. In each round every library in turn has the machine to itself. Its processes
    end before the next library's start. Ranks are pinned to cores, unless ranks outnumber cores.

    A sample starts when all ranks are there. Its time is the slowest rank's. Every rank rewrites
    its input before each operation. Results are compared with the exact values.

    Short operations are measured in batches, rewriting included: up to 4 KiB, because a clock
    cannot resolve a single one; and up to 2 MiB where ranks outnumber cores, because there the
    order in which ranks get a core decides the time of a single one.

    If the 99th percentile is tens of times the median, bench says so: other work had the cores.

    Allreduce and broadcast are in place for all libraries, the others out of place. Reduce through
    torch is in place, too. --limit measures only the memory accesses of the collective, with
    threads of one process, without messages and without batches.

    Exit status: 0, 1 if a result is wrong or a rank fails, 130 after Ctrl-C.
    """
    console = Console(stderr=True)
    try:
        correct = _bench(console, **options)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        console.print("interrupted; all processes have been ended")
        sys.exit(130)
    if not correct:
        raise click.ClickException("a library gave wrong results: see the column `correct`")


def _bench(console: Console, **options: Any) -> bool:
    # Imported here: `weft --help` must not wait for them.
    from weft.bench.libraries import PEERS, limit, require, weft_library
    from weft.bench.noise import note
    from weft.bench.plot import plot, require_matplotlib
    from weft.bench.results import rows, table

    _check(options)
    if options["plot_file"]:
        require_matplotlib()
    libraries = [weft_library(options["api"]), *(PEERS[name] for name in options["peers"])]
    if options["limit"]:
        libraries.append(limit())
    require(libraries)
    cases = _cases(options)
    found = list(rows(cases, libraries, _measure(console, cases, libraries, options)))
    if options["json_file"]:
        options["json_file"].writelines(row.json() + "\n" for row in found)
        options["json_file"].flush()
    stderr = _writes_to_stdout(options)
    width = max(Console(stderr=stderr).width, _TABLE_WIDTH)
    Console(stderr=stderr, width=width).print(table(found))
    if noisy := note({f"{row.library}, {size_text(row.bytes)}": row.tail for row in found}):
        console.print(noisy, soft_wrap=True)
    if options["plot_file"]:
        plot(found, options["plot_file"])
    return all(row.correct for row in found)


def _check(options: dict[str, Any]) -> None:
    if options["algorithm"] and options["api"] == "torch":
        raise click.UsageError(
            "--algorithm needs --api core: torch.distributed has no place for it"
        )
    if options["plot_file"] and not TRAITS[options["collective"]].moves_data:
        raise click.UsageError("--plot shows times over sizes: a barrier has none")


def _cases(options: dict[str, Any]) -> list[Case]:
    sizes = options["sizes"] if TRAITS[options["collective"]].moves_data else [0]
    return [
        Case.sized(
            options["collective"], size, options["ranks"], options["dtype"],
            symmetric=options["symmetric"], algorithm=options["algorithm"],
        )
        for size in sizes
    ]  # fmt: skip


def _measure(
    console: Console, cases: list[Case], libraries: list[Library], options: dict[str, Any]
) -> list[list[list[Measured]]]:
    from weft.bench.bursts import measure
    from weft.bench.processes import BurstFailed

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    # Drawn between bursts only: a clock that ticks would take the core from a rank.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=None)

        def progress(library: str, done: int, of: int) -> None:
            text = f"{options['collective']}, {len(cases)} sizes: {library}"
            bar.update(task, completed=done, total=of, description=text, refresh=True)

        try:
            return measure(
                cases, libraries, options["rounds"], options["seconds"], options["iterations"],
                progress,
            )  # fmt: skip
        except BurstFailed as error:
            raise click.ClickException(str(error)) from None


def _writes_to_stdout(options: dict[str, Any]) -> bool:
    return options["json_file"] is not None and options["json_file"].name == "<stdout>"
