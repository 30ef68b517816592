"""The command `weft`: one file a subcommand."""

from __future__ import annotations

import click

import weft
from weft.cli.bench import bench
from weft.cli.explain import explain
from weft.cli.info import info
from weft.cli.price import price
from weft.cli.search import search
from weft.cli.show import show
from weft.cli.simulate import simulate
from weft.cli.timeline import timeline
from weft.cli.topology import topology
from weft.cli.tune import tune
from weft.cli.verify import verify_command

_EPILOG = """\b
Examples:
  weft info
  weft bench allreduce --ranks 2 --sizes 8,1M --peers mpich
  weft verify --help
"""


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(weft.__version__, prog_name="weft")
def main() -> None:
    """Collectives as proved plans, for PyTorch, NumPy and C++."""


main.add_command(bench)
main.add_command(explain)
main.add_command(info)
main.add_command(show)
main.add_command(price)
main.add_command(search)
main.add_command(simulate)
main.add_command(timeline)
main.add_command(topology)
main.add_command(tune)
main.add_command(verify_command)
