"""The `--quick` of `weft tune`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from weft.tune import quick


def run(console: Console, output: Path | None, json_file: IO[str] | None) -> None:
    """Measures, says what was found, and writes the file if it is worth it.

    Raises WeftError, and ClickException if a rank fails.
    """
    from weft.bench.noise import note
    from weft.tune import forget_user_choices, model_file

    forget_user_choices()
    path = output or model_file.default_file()
    found = _measured(console)
    console.print(found.text(), soft_wrap=True)
    if found.wins:
        measured = {"gain": round(found.gain, 4), "halves": [round(h, 4) for h in found.halves]}
        model_file.save(path, found.chosen(), measured)
        console.print(f"{path} is written: communicators on this processor use it", soft_wrap=True)
    elif model_file.in_use(path):
        console.print(
            f"{path} is from before and stays in use: remove it for the shipped model",
            soft_wrap=True,
        )
    if noisy := note(found.tails):
        console.print(noisy, soft_wrap=True)
    if json_file is not None:
        json_file.write(json.dumps(found.json()) + "\n")


def _measured(console: Console) -> quick.Quick:
    from weft.bench.processes import BurstFailed
    from weft.tune import quick

    tried = quick.candidates(quick.second_cache())
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    # Drawn between pairs only: a clock that ticks would take the core from a rank.
    with (
        tempfile.TemporaryDirectory(prefix="weft-model-") as folder,
        Progress(*columns, console=console, transient=True, auto_refresh=False) as bar,
    ):
        task = bar.add_task(f"{len(tried)} models in turns", total=quick.pairs(tried))
        bar.refresh()
        try:
            return quick.compete(
                tried,
                quick.measure_in(Path(folder)),
                lambda: bar.update(task, advance=1, refresh=True),
            )
        except BurstFailed as error:
            raise click.ClickException(str(error)) from None
