"""Trains LeNet with DistributedDataParallel; the only word of Weft in it is the backend's name.

torchrun --nproc-per-node 2 train.py --backend weft
torchrun --nproc-per-node 2 train.py --backend gloo
python train.py                                        # one process, the same global batch
"""

import argparse
import hashlib
import json
import os
import statistics
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import data
import model

GLOBAL_BATCH = 64


def main() -> None:
    """Trains, tests, and prints or writes what came of it."""
    options = arguments()
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group(options.backend)
    rank = dist.get_rank() if ranks > 1 else 0
    torch.manual_seed(options.seed)

    training, held_out = data.mnist(options.mnist) if options.mnist else data.digits()
    training = data.Shifted(training, options.seed)
    # Rank r reads records r, r + ranks, r + 2 * ranks, ... of an order that all ranks share.
    sampler = DistributedSampler(training, ranks, rank, shuffle=True, seed=options.seed)
    loader = DataLoader(training, GLOBAL_BATCH // ranks, sampler=sampler, drop_last=True)

    net = model.lenet()
    meet(ranks)
    start = time.perf_counter()
    if ranks > 1:
        net = DistributedDataParallel(net)
    optimizer = model.CaffeSGD(net.named_parameters())
    loss = train(net, optimizer, loader, options.iterations, talk=rank == 0)
    meet(ranks)
    seconds = time.perf_counter() - start

    result = {
        "backend": options.backend if ranks > 1 else "none",
        "ranks": ranks,
        "loss": loss,
        "accuracy": accuracy(net, held_out, ranks, rank),
        "parameters_identical": parameters_identical(net, ranks),
        "seconds": seconds,
    }
    if options.share and ranks > 1:
        result["communication_share"] = communication_share(net, optimizer, loader)
    if rank == 0:
        print(json.dumps(result))
        if options.json:
            options.json.write_text(json.dumps(result))
    if ranks > 1:
        dist.destroy_process_group()


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["weft", "gloo"], default="weft")
    parser.add_argument("--iterations", type=int, default=900)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's own files (else: digits)")
    parser.add_argument("--share", action="store_true", help="also time it without communication")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser.parse_args()


def meet(ranks: int) -> None:
    """Waits for all ranks, so that a time taken after it is the same for all."""
    if ranks > 1:
        dist.barrier()


def step(net: nn.Module, optimizer: model.CaffeSGD, batch: list[torch.Tensor]) -> torch.Tensor:
    """One iteration; DistributedDataParallel averages the gradients during backward()."""
    images, labels = batch
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def train(
    net: nn.Module, optimizer: model.CaffeSGD, loader: DataLoader, iterations: int, talk: bool
) -> float:
    """Runs the iterations, epoch after epoch; returns the last loss."""
    schedule = model.inverse_decay(optimizer)
    done, epoch = 0, 0
    while done < iterations:
        loader.sampler.set_epoch(epoch)
        loader.dataset.set_epoch(epoch)
        for batch in loader:
            loss = step(net, optimizer, batch)
            schedule.step()
            done += 1
            if talk and done % 50 == 0:
                print(f"iteration {done} loss {loss.item():.4f}", flush=True)
            if done == iterations:
                break
        epoch += 1
    return loss.item()


@torch.no_grad()
def accuracy(net: nn.Module, held_out: torch.utils.data.TensorDataset, ranks: int, rank: int):
    """The share of held-out records that are recognised; each rank looks at its part."""
    images, labels = (tensor[rank::ranks] for tensor in held_out.tensors)
    right = (net(images).argmax(dim=1) == labels).sum()
    if ranks > 1:
        dist.all_reduce(right)
    return right.item() / len(held_out)


def parameters_identical(net: nn.Module, ranks: int) -> bool:
    """Whether all ranks hold the same parameters to the bit, by their hashes."""
    content = b"".join(tensor.numpy().tobytes() for tensor in net.state_dict().values())
    mine = hashlib.sha256(content).hexdigest()
    hashes = [mine]
    if ranks > 1:
        hashes = [None] * ranks
        dist.all_gather_object(hashes, mine)
    return len(set(hashes)) == 1


def communication_share(
    net: DistributedDataParallel, optimizer: model.CaffeSGD, loader: DataLoader
) -> float:
    """The share of an iteration's time that exchanging the gradients costs.

    Communication overlaps with backward(), and here it also takes cores from backward(). So its
    price is neither the time inside the collectives nor the wait at the end. The price is the time
    that goes away without it. The same iterations are timed with and without the exchange
    (no_sync), slowest rank each. Blocks alternate, so that the machine's fast and slow minutes fall
    on both; the median of
    the pairs is taken. It runs after everything else, since ranks drift apart without it.
    """
    batch = next(iter(loader))

    def block(iterations: int = 10) -> float:
        dist.barrier()
        start = time.perf_counter()
        for _ in range(iterations):
            step(net, optimizer, batch)
        dist.barrier()
        return time.perf_counter() - start

    def alone() -> float:
        with net.no_sync():
            return block()

    pairs = [(block(), alone()) for _ in range(15)]
    return statistics.median(1 - without / exchanged for exchanged, without in pairs[1:])


if __name__ == "__main__":
    main()
