"""Trains DLRM: embedding tables divided over the ranks, perceptrons on every rank."""

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import weft
from weft.errors import InvalidArgument

from dlrm import checkpoint
from dlrm.auc import auc
from dlrm.clicks import PlantedClicks, RandomClicks
from dlrm.configurations import CONFIGURATIONS, Configuration
from dlrm.criteo import CriteoLog
from dlrm.options import arguments
from dlrm.progress import Progress
from dlrm.records import Source, part
from dlrm.tables import Split, split_tables
from dlrm.trainer import Trainer, loss_of


def main() -> None:
    """Trains, and prints or writes what came of it."""
    options = arguments(__doc__)
    ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    try:
        # Before the ranks meet, so that a setting that is wrong on all is refused at once.
        split = split_tables(options.shape, rank, ranks, options.share_small)
        if options.shape.minibatch % ranks:
            raise InvalidArgument(
                f"a minibatch of {options.shape.minibatch} records does not divide into {ranks} "
                f"ranks: choose a --minibatch that is a multiple of {ranks}"
            )
        if ranks > 1:
            if options.dtype == "bfloat16":
                os.environ.setdefault("WEFT_WIRE", "bfloat16")  # sums cross nodes in it, too
            dist.init_process_group(options.backend)
        train(options, split)
    except InvalidArgument as error:
        sys.exit(f"train.py: {error}")
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def train(options: argparse.Namespace, split: Split) -> None:
    """Runs the steps of one rank, and reports."""
    trainer = Trainer(
        options.shape, split, lr=options.lr, dtype=options.dtype, strategy=options.strategy,
        exchange=options.exchange, blocking=options.blocking, seed=options.seed,
    )  # fmt: skip
    talk = split.rank == 0
    if talk:
        print(describe(options.shape), flush=True)
    place = (settings(options), split.rank, split.ranks)
    done = 0
    if options.resume:
        done, state = checkpoint.load(options.checkpoint, *place)
        trainer.load(state)
    source, line = source_of(options), Progress(done, options, talk)
    loss = torch.tensor(float("nan"))

    def save(step: int) -> None:
        checkpoint.save(options.checkpoint, step, place[0], trainer.state(), *place[1:])

    with contextlib.ExitStack() as recording:
        for step in range(done, options.steps):
            if options.timeline and step == max(done, options.steps - 2):
                recording.enter_context(weft.train.timeline(options.timeline))
            batch = part(source.records(step), split, trainer.dtype)
            loss = trainer.step(batch)
            line.show(step + 1, loss, trainer)
            if options.checkpoint and (step + 1) % options.every == 0:
                save(step + 1)
        trainer.finish()
    report(trainer, line, loss, options)
    if options.checkpoint and options.steps > done and options.steps % options.every:
        save(options.steps)
    trainer.close()


def describe(shape: Configuration) -> str:
    """The model, and by what it was made smaller."""
    whole = CONFIGURATIONS[shape.name].minibatch
    rows = f"rows divided by {shape.rows_factor}" if shape.rows_factor > 1 else "all rows"
    return (
        f"{shape.name}: {len(shape.rows)} tables, {sum(shape.rows):,} rows of {shape.dimension} "
        f"({rows}), {shape.dense_parameters:,} dense parameters, minibatch {shape.minibatch} "
        f"({whole} divided by {whole / shape.minibatch:g})"
    )


def settings(options: argparse.Namespace) -> dict:
    """What has to be the same to go on."""
    names = ("config", "shrink", "data", "share_small", "dtype", "seed")
    return {
        "minibatch": options.shape.minibatch,
        **{name: getattr(options, name) for name in names},
    }


def source_of(options: argparse.Namespace) -> Source:
    """Where the records come from."""
    if options.data == "random":
        return RandomClicks(options.shape, options.seed)
    if options.data == "planted":
        return PlantedClicks(options.shape, options.seed)
    return CriteoLog(Path(options.data), options.shape)


def report(
    trainer: Trainer, line: Progress, loss: torch.Tensor, options: argparse.Namespace
) -> None:
    """Rank 0 prints the result. Collective."""
    split, shape = trainer.split, options.shape
    tables = trainer.model.tables.parameters()
    result = {
        "config": options.config, "minibatch": shape.minibatch, "rows_factor": shape.rows_factor,
        "minibatch_factor": CONFIGURATIONS[options.config].minibatch / shape.minibatch,
        "ranks": split.ranks, "backend": options.backend, "exchange": options.exchange,
        "strategy": options.strategy, "blocking": options.blocking, "dtype": options.dtype,
        "steps": options.steps, "loss": loss.item(), "samples_per_s": line.samples_per_s,
        "table_bytes_of_rank_0": sum(p.numel() * p.itemsize for p in tables),
        "milliseconds": trainer.milliseconds(line.timed) if line.timed else None,
    }  # fmt: skip
    if options.evaluate:
        result |= evaluate(trainer, options)
    if split.rank == 0:
        print(json.dumps(result))
        if options.json:
            options.json.write_text(json.dumps(result))


def evaluate(trainer: Trainer, options: argparse.Namespace) -> dict:
    """Loss and AUC on records that no step has seen. Collective."""
    held_out = 1 << 40  # the step at which they begin
    if options.data == "planted":
        source: Source = PlantedClicks(options.shape, options.seed, held_out)
    elif options.data == "random":
        source = RandomClicks(options.shape, options.seed + held_out)
    else:
        source = CriteoLog(options.test, options.shape)
    steps = range(options.evaluate)
    batches = (part(source.records(n), trainer.split, trainer.dtype) for n in steps)
    scores, labels = trainer.evaluate(batches)
    result = {"test_loss": loss_of(scores, labels).item(), "auc": auc(scores, labels)}
    if isinstance(source, PlantedClicks):
        result["best_auc"] = source.best_auc(options.evaluate)
    return result


if __name__ == "__main__":
    main()
