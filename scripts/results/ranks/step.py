"""One rank of caffe_gpi.py: training steps of a real model, exchanged in one of several ways.

python step.py DIRECTORY     # has settings.json; rank 0 writes result.json
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from exchanges import Steps
from layer_times import beside, layers
from one_rank import Rank, Row
from torch import nn

import weft


def timed(here: Rank) -> Row:
    """Seconds a step of the slowest rank, by block."""
    steps, (images, labels) = Steps(here.asked["model"], here.how), here.batch(here.rank)
    steps.run(images, labels, 2)
    blocks = []
    begin = time.monotonic()
    for _ in range(here.asked["blocks"]):
        here.gathered(None)  # ranks begin together
        passed = steps.run(images, labels, here.asked["steps"])
        blocks.append(max(here.gathered(passed)) / here.asked["steps"])
    span = [begin, time.monotonic()]
    here.refuse_different(steps)
    steps.close()
    nbytes = 4 * steps.parameters().numel()
    return {"seconds": blocks, "bytes": nbytes, "images_a_rank": len(labels), "span": span}


def pairs(here: Rank) -> Row:
    """Seconds a step of the slowest rank, of this way and of another one by turns in one job."""
    images, labels = here.batch(here.rank)
    ways = [Steps(here.asked["model"], how, True) for how in (here.how, here.asked["against"])]
    waits = [way.settle(images, labels) for way in ways]
    found = []
    for _ in range(here.asked["pairs"]):
        pair = []
        for way in ways:
            here.gathered(None)
            passed = way.run(images, labels, here.asked["pair_steps"])
            pair.append(max(here.gathered(passed)) / here.asked["pair_steps"])
        found.append(pair)
    for way in ways:
        here.refuse_different(way)
        way.close()
    return {"seconds": found, "wait": waits[0]}


def equal(here: Rank) -> Row:
    """How far the parameters are from those of one process that has all images.

    `difference`: the norm of the difference, over the norm of the parameters; `moved`: over the
    norm of what training has changed; `same_order`: as `difference`, to one process that adds up
    the shares' gradients in the order of the document's trees, for "flat_tree".
    """
    count = here.asked["equal_steps"]
    steps = Steps(here.asked["model"], here.how)
    first = steps.parameters()
    for number in range(count):
        steps.one(*here.batch(here.rank, number))
    steps.finish()
    here.refuse_different(steps)
    mine = steps.parameters()
    steps.close()
    if here.rank:
        return {}
    alone = Steps(here.asked["model"], "none")
    for number in range(count):
        shares = [here.batch(rank, number) for rank in range(here.size)]
        alone.one(torch.cat([s[0] for s in shares]), torch.cat([s[1] for s in shares]))
    wanted = alone.parameters()
    off = (mine - wanted).norm().item()
    result = {
        "difference": off / wanted.norm().item(),
        "moved": off / (wanted - first).norm().item(),
    }
    if here.how == "flat_tree":
        other = (mine - in_order_of_the_trees(here)).norm().item()
        result["same_order"] = other / wanted.norm().item()
    return result


def in_order_of_the_trees(here: Rank) -> torch.Tensor:
    """Of one process that adds gradients as four ranks do: 3 to 1, then 1 and 2 to 0."""
    steps = Steps(here.asked["model"], "none")
    parameters = list(steps.inner.parameters())
    for number in range(here.asked["equal_steps"]):
        shares = []
        for rank in range(here.size):
            images, labels = here.batch(rank, number)
            loss = nn.functional.cross_entropy(steps.net(images), labels)
            shares.append(torch.autograd.grad(loss, parameters))
        for parameter, *grads in zip(parameters, *shares, strict=True):
            parameter.grad = ((grads[0] + (grads[1] + grads[3])) + grads[2]) / here.size
        steps.optimizer.step()
    return steps.parameters()


def wire(here: Rank) -> Row:
    """Seconds of one allreduce of all gradients, with nothing beside it; the least of three."""
    nbytes = 4 * Steps(here.asked["model"], "none").parameters().numel()
    comm = weft.Communicator.from_group()
    flat = torch.from_numpy(weft.empty(nbytes, "uint8")).view(torch.float32)
    flat.fill_(here.rank)
    found = []
    for _ in range(4):
        comm.barrier()
        begin = time.perf_counter()
        comm.allreduce(flat, "avg", out=flat, symmetric=True)
        found.append(max(here.gathered(time.perf_counter() - begin)))
    comm.close()
    return {"seconds": min(found[1:]), "bytes": nbytes}


def skew(here: Rank) -> Row:
    """A timeline of steps in each of which one rank, drawn by lot, stands still before its forward.

    Rank 0 writes trace.json, and has it in the result.
    """
    steps, (images, labels) = Steps(here.asked["model"], here.how), here.batch(here.rank)
    lot = random.Random(2)
    steps.run(images, labels, 2)
    here.gathered(None)
    path = here.directory / "trace.json"
    begin = time.perf_counter()
    with weft.train.timeline(path):
        for _ in range(6):
            if lot.randrange(here.size) == here.rank:
                time.sleep(here.asked["skew"])
            steps.one(images, labels)
            if "barrier" in here.how:
                steps.finish()
                dist.barrier()
        steps.finish()
    seconds = max(here.gathered(time.perf_counter() - begin))
    here.refuse_different(steps)
    steps.close()
    trace = json.loads(path.read_text()) if here.rank == 0 else None
    return {"seconds": seconds, "trace": trace}


PARTS = {"steps": timed, "pairs": pairs, "bytes": timed, "node": timed, "equal": equal,
         "layers": layers, "beside": beside, "wire": wire, "skew": skew}  # fmt: skip


def main() -> None:
    directory = Path(sys.argv[1])
    asked = json.loads((directory / "settings.json").read_text())
    here = Rank(directory, asked)
    torch.set_num_threads(1)
    if here.size > 1:
        backend = "gloo" if "Gloo" in here.how or "MPI" in here.how else "weft"
        dist.init_process_group(
            backend, init_method=f"file://{directory}/store", rank=here.rank, world_size=here.size
        )
    result = PARTS[asked["part"]](here)
    if here.rank == 0:
        (directory / "result.json").write_text(json.dumps(result))
    if here.size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
