"""The command line of train.py."""

import argparse
import dataclasses
from pathlib import Path

from dlrm.configurations import CONFIGURATIONS
from dlrm.trainer import DTYPES
from dlrm.ways import EXCHANGES

EXAMPLES = """examples:
  python train.py                                                    # one process
  torchrun --nproc-per-node 2 train.py --data planted --steps 500 --evaluate 20
  torchrun --nproc-per-node 4 train.py --dtype bfloat16 --exchange scatter --strategy allreduce
  torchrun --nproc-per-node 2 train.py --config mlperf --shrink 512 --json result.json

Criteo's log, with a checkpoint every 1000 steps; the same command with --resume goes on:
  torchrun --nproc-per-node 2 train.py --config mlperf --shrink 16 --data day_0 --test day_23 \\
    --evaluate 100 --steps 10000 --checkpoint saved --every 1000

how much of a step is communication, on Weft and on Gloo, exposed and in blocking steps:
  torchrun --nproc-per-node 2 train.py --steps 50 --json weft.json
  torchrun --nproc-per-node 2 train.py --steps 50 --json blocking.json --blocking
  torchrun --nproc-per-node 2 train.py --steps 50 --json gloo.json --backend gloo
  python breakdown.py weft.json blocking.json gloo.json --plot steps.png

Any number of ranks up to the number of tables learns what one process learns.
"""


def arguments(description: str) -> argparse.Namespace:
    """The command line. Refuses what cannot be."""
    # fmt: off
    parser = argparse.ArgumentParser(
        description=description, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--config", choices=list(CONFIGURATIONS), default="tiny", help="sizes (default tiny)")
    add("--shrink", type=int, default=1, metavar="FACTOR",
        help="divides the minibatch and the tables' rows (small keeps its rows); default 1")
    add("--minibatch", type=int, metavar="N",
        help="records a step of all ranks together (default: the configuration's, shrunk)")
    add("--data", default="random", metavar="random|planted|FILE",
        help="uniform records; a log whose best AUC is known; a log in Criteo's format")
    add("--test", type=Path, metavar="FILE", help="Criteo's records to evaluate on")
    add("--evaluate", type=int, default=0, metavar="N",
        help="minibatches to compute loss and AUC of at the end (default 0)")
    add("--backend", choices=["weft", "gloo"], default="weft")
    add("--exchange", choices=list(EXCHANGES), default="alltoall", help="of the embeddings")
    add("--strategy", choices=["ddp", "allreduce", "sharded", "tree"], default="ddp",
        help="of the perceptrons: DistributedDataParallel, or one of GradientSync's")
    add("--blocking", action="store_true", help="wait for each exchange where it starts")
    add("--share-small", action="store_true", help="tables under 2048 rows go to every rank")
    add("--dtype", choices=list(DTYPES), default="float32", help="bfloat16: with Split-SGD")
    add("--steps", type=int, default=20, help="to reach, also after --resume (default 20)")
    add("--lr", type=float, default=0.1)
    add("--seed", type=int, default=0)
    add("--checkpoint", type=Path, metavar="DIRECTORY",
        help="save here, at the end too; all ranks have to reach it")
    add("--every", type=int, default=100, metavar="STEPS", help="between two checkpoints")
    add("--resume", action="store_true", help="go on from --checkpoint")
    add("--timeline", type=Path, metavar="FILE", help="record the last two steps")
    add("--json", type=Path, metavar="FILE", help="write the result here")
    # fmt: on
    options = parser.parse_args()
    if min(options.shrink, options.steps, options.every, options.minibatch or 1) < 1:
        parser.error("--shrink, --minibatch, --steps and --every are 1 or more")
    if options.backend != "weft" and (options.strategy != "ddp" or options.timeline):
        parser.error("GradientSync's strategies and --timeline need --backend weft")
    if options.resume and not options.checkpoint:
        parser.error("--resume: give the --checkpoint to go on from")
    if options.evaluate and options.data not in ("random", "planted") and not options.test:
        parser.error("--evaluate: give the file of records to evaluate on by --test")
    options.shape = CONFIGURATIONS[options.config].shrink(options.shrink)
    if options.minibatch:
        options.shape = dataclasses.replace(options.shape, minibatch=options.minibatch)
    return options
