"""The shared parts of commands that take a call and a topology."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from weft.cli.algorithms import Parameter, Placement
from weft.errors import WeftError
from weft.sizes import parse_size


def size(context: click.Context, parameter: click.Parameter, text: str | None) -> int:
    """Bytes of an option, from "32M"; 0 if it is not given."""
    try:
        return 0 if text is None else parse_size(text)
    except WeftError as error:
        raise click.BadParameter(str(error)) from None


_PLACE_OPTIONS = (
    click.option(
        "--topology", required=True, metavar="NAME|FILE",
        help="A shipped topology or a file (docs/topology.md).",
    ),
    click.option(
        "--nodes", type=click.IntRange(1), help="Nodes, instead of the topology's own number."
    ),
    click.option(
        "--ranks", type=click.IntRange(1), help="Use the first ranks of the topology; default: all."
    ),
    click.option(
        "--placement", type=Placement(), default="natural", show_default=True,
        help="Where the ranks lie: natural, scattered, or a list with each rank's place.",
    ),
    click.option(
        "--bytes", "nbytes", required=True, callback=size, metavar="SIZE",
        help="Bytes of the whole message, as nccl-tests count; K is 1024.",
    ),
)  # fmt: skip
_OPTIONS = (
    click.argument("algorithm"),
    *_PLACE_OPTIONS,
    click.option(
        "--chunk", callback=size, metavar="SIZE",
        help="Bytes of a chunk at most; default: as selection would take.",
    ),
    click.option(
        "--param", "params", type=Parameter(), multiple=True, metavar="NAME=VALUE",
        help="A parameter of the algorithm; node and tree default to the topology's.",
    ),
    click.option("--dtype", default="float32", show_default=True, metavar="NAME"),
    click.option("--symmetric", is_flag=True, help="All outputs are in symmetric memory."),
    click.option(
        "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
        help="Write one JSON object; - is standard output.",
    ),
)  # fmt: skip


def place_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say where a call runs, and how large it is."""
    for option in reversed(_PLACE_OPTIONS):
        command = option(command)
    return command


def call_options(command: Callable[..., None]) -> Callable[..., None]:
    """Argument and options of a command about one call."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def place(asked: dict[str, Any]) -> Any:
    """The topology that is asked for."""
    from weft.topology import load, placed

    return placed(
        load(asked["topology"], nodes=asked["nodes"]), asked["placement"], ranks=asked["ranks"]
    )


def call(asked: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `weft.price` and `weft.simulate`."""
    return {
        **{word: asked[word] for word in ("nbytes", "ranks", "chunk", "dtype", "symmetric")},
        "params": dict(asked["params"]),
    }


def answer(
    asked: dict[str, Any], topology: Any, found: Any, words: tuple[str, ...]
) -> dict[str, Any]:
    """One JSON object: the question, and the named values of the result."""
    return {
        **{word: asked[word] for word in ("algorithm", "topology", "nbytes", "placement", "dtype")},
        "ranks": asked["ranks"] or len(topology.ranks),
        "params": dict(asked["params"]),
        "symmetric": asked["symmetric"],
        **{word: getattr(found, word) for word in words},
    }
