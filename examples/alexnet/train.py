"""Trains AlexNet, GoogLeNet, Inception v3 or VGG-16 on synthetic images."""

import argparse
import hashlib
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import weft

from images import Synthetic
from models import MODELS, OWN_SIZE, SMALLEST

EXAMPLES = """examples:
  python train.py --image-size 67 --batch 8 --steps 10                     # one process
  torchrun --nproc-per-node 2 train.py --strategy allreduce --image-size 67 --batch 8 --steps 10
  torchrun --nproc-per-node 2 train.py --strategy sharded --steps 1000 --checkpoint last.pt --resume

on a cluster, at full size, on each of four nodes:
  torchrun --nnodes 4 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint node0:29500 \\
    train.py --strategy allreduce --batch 256 --images 4096 --steps 450000 --checkpoint /all/last.pt

All strategies but "none" average the gradients of all ranks, so the parameters become those of one
process with the same global batch (with --no-dropout; BatchNorm in Inception v3 sees a rank's
images only).
"""


def main() -> None:
    """Trains, and prints or writes what came of it."""
    options = arguments()
    torch.manual_seed(options.seed)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group(options.backend)
    try:
        train(options, ranks, dist.get_rank() if ranks > 1 else 0)
    finally:
        if ranks > 1:
            dist.destroy_process_group()


def arguments() -> argparse.Namespace:
    """The command line. Refuses what cannot be."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", choices=list(MODELS), default="alexnet")
    add(
        "--strategy",
        choices=["none", "ddp", "allreduce", "sharded", "tree"],
        default="none",
        help="none: ranks exchange nothing; ddp: DistributedDataParallel; else GradientSync's",
    )
    add("--backend", choices=["weft", "gloo"], default="weft", help="of DistributedDataParallel")
    add("--images", type=int, default=64, help="how many there are (default 64)")
    add("--image-size", type=int, help="pixels a side (default: the network's own, 224 to 299)")
    add("--batch", type=int, default=16, help="images a step of all ranks together (default 16)")
    add("--steps", type=int, default=20, help="to reach, also after --resume (default 20)")
    add("--lr", type=float, default=0.01)
    add("--no-dropout", action="store_true", help="so that any number of ranks learns the same")
    add("--seed", type=int, default=0)
    add("--checkpoint", type=Path, metavar="FILE", help="write the state here, at the end too")
    add("--every", type=int, default=100, metavar="STEPS", help="between two checkpoints")
    add("--resume", action="store_true", help="go on from --checkpoint")
    add("--timeline", type=Path, metavar="FILE", help="record the last two steps")
    add("--json", type=Path, metavar="FILE", help="write the result here")
    options = parser.parse_args()
    options.image_size = options.image_size or OWN_SIZE[options.model]
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if options.image_size < SMALLEST[options.model]:
        parser.error(f"--image-size: {options.model} needs at least {SMALLEST[options.model]}")
    if min(options.images, options.batch, options.steps, options.every) < 1:
        parser.error("--images, --batch, --steps and --every are 1 or more")
    if options.batch % ranks:
        parser.error(f"--batch {options.batch} does not divide into {ranks} ranks")
    if options.backend != "weft" and options.strategy not in ("none", "ddp"):
        parser.error(f"--strategy {options.strategy} needs --backend weft")
    if options.resume and not (options.checkpoint and options.checkpoint.exists()):
        parser.error(f"--resume: there is no checkpoint {options.checkpoint or '(--checkpoint)'}")
    return options


def train(options: argparse.Namespace, ranks: int, rank: int) -> None:
    """Runs the steps of one rank."""
    net = MODELS[options.model](0.0 if options.no_dropout else 0.5)
    run = Run(net, options, ranks)
    done = load(run, options) if options.resume else 0
    data = Synthetic(options.images, options.image_size, options.seed)
    line = Progress(done, options.steps, options.batch, talk=rank == 0)
    loss = torch.tensor(float("nan"))

    def steps(first: int, last: int) -> torch.Tensor:
        result = loss
        for step in range(first, last):
            # Masks of dropout depend on the step and the rank only, so a resumed run has the same.
            torch.manual_seed(options.seed + (step + 1) * ranks + rank)
            result = run.step(*data.batch(step, options.batch, rank, ranks))
            line.show(step + 1, result)
            if options.checkpoint and (step + 1) % options.every == 0:
                save(run, step + 1, options, rank)
        return result

    recorded = max(done, options.steps - 2) if options.timeline else options.steps
    loss = steps(done, recorded)
    if options.timeline:
        with weft.train.timeline(options.timeline):
            loss = steps(recorded, options.steps)
    run.finish()
    report(run, line, loss, options, ranks, rank)
    if options.checkpoint:
        save(run, max(done, options.steps), options, rank)
    run.close()


class Run:
    """A model with its optimizer, and what keeps the ranks equal."""

    def __init__(self, net: nn.Module, options: argparse.Namespace, ranks: int) -> None:
        """Caffe's solver for AlexNet: biases learn at twice the rate and do not decay."""
        named = list(net.named_parameters())
        weights = [p for name, p in named if not name.endswith("bias")]
        biases = [p for name, p in named if name.endswith("bias")]
        self.net = self.inner = net
        self.optimizer = torch.optim.SGD(
            [
                {"params": weights, "weight_decay": 5e-4},
                {"params": biases, "lr": 2 * options.lr, "weight_decay": 0.0},
            ],
            lr=options.lr,
            momentum=0.9,
        )
        self.sync = None
        if ranks > 1 and options.strategy == "ddp":
            self.net = DistributedDataParallel(net)
        elif ranks > 1 and options.strategy != "none":
            self.sync = weft.train.GradientSync(net, self.optimizer, options.strategy)

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """One step; the loss of this rank's images."""
        trained = self.sync or self.optimizer
        loss = nn.functional.cross_entropy(self.net(images), labels)
        loss.backward()
        trained.step()
        trained.zero_grad()
        return loss.detach()

    def finish(self) -> None:
        """Afterwards the parameters may be read."""
        if self.sync:
            self.sync.finish()

    def close(self) -> None:
        """The last call. Collective."""
        if self.sync:
            self.sync.close()

    def state(self) -> dict:
        """What a checkpoint holds. Collective with the strategy "sharded"."""
        self.finish()
        optimizer = (self.sync or self.optimizer).state_dict()
        return {"model": self.inner.state_dict(), "optimizer": optimizer}

    def load(self, state: dict) -> None:
        """Takes what `state` gave."""
        self.inner.load_state_dict(state["model"])
        (self.sync or self.optimizer).load_state_dict(state["optimizer"])


def save(run: Run, step: int, options: argparse.Namespace, rank: int) -> None:
    """Rank 0 writes the checkpoint. Whoever kills it meanwhile finds the last one whole."""
    state = run.state()
    if rank == 0:
        partly = options.checkpoint.with_name(options.checkpoint.name + ".partly")
        torch.save({"step": step, "trained": trained(options), **state}, partly)
        partly.replace(options.checkpoint)


def load(run: Run, options: argparse.Namespace) -> int:
    """Every rank reads the checkpoint, which has to be where all find it. The step it is of."""
    state = torch.load(options.checkpoint)
    if state["trained"] != trained(options):
        sys.exit(f"{options.checkpoint} is of {state['trained']}, not of {trained(options)}")
    run.load(state)
    return state["step"]


def trained(options: argparse.Namespace) -> dict:
    """What has to be the same to go on."""
    names = ("model", "images", "image_size", "batch", "seed", "no_dropout")
    return {name: getattr(options, name) for name in names}


class Progress:
    """The line that says how far the training is. Times start with the second step."""

    def __init__(self, done: int, steps: int, batch: int, talk: bool) -> None:
        """Nothing is shown yet."""
        self._first, self._steps, self._batch, self._talk = done + 1, steps, batch, talk
        self._start = 0.0
        self.images_per_s: float | None = None

    def show(self, step: int, loss: torch.Tensor) -> None:
        """Step number `step` is done."""
        now = time.perf_counter()
        if step == self._first:
            self._start = now
        else:
            self.images_per_s = (step - self._first) * self._batch / (now - self._start)
        if not self._talk:
            return
        rate = f"{self.images_per_s:.1f} images/s" if self.images_per_s else "first step"
        text = f"step {step}/{self._steps}  loss {loss.item():.4f}  {rate}"
        if self.images_per_s:
            text += f"  {(self._steps - step) * self._batch / self.images_per_s:.0f} s left"
        end = "\r" if sys.stdout.isatty() and step < self._steps else "\n"
        print(f"{text:<70}", end=end, flush=True)


def report(
    run: Run, line: Progress, loss: torch.Tensor, options: argparse.Namespace, ranks: int, rank: int
) -> None:
    """Rank 0 prints the result. Collective."""
    content = b"".join(one.numpy().tobytes() for one in run.inner.state_dict().values())
    hashes = [hashlib.sha256(content).hexdigest()]
    if ranks > 1:
        mine, hashes = hashes[0], [""] * ranks
        dist.all_gather_object(hashes, mine)
    if rank != 0:
        return
    result = {
        "model": options.model,
        "strategy": options.strategy,
        "ranks": ranks,
        "steps": options.steps,
        "loss": loss.item(),
        "images_per_s": line.images_per_s,
        "parameter_bytes": sum(p.numel() * p.itemsize for p in run.inner.parameters()),
        "ranks_equal": len(set(hashes)) == 1,
    }
    print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
