"""Trains LeNet with its first inner product split over a model group, and the batch over data.

torchrun --nproc-per-node 2 model_group.py --model 2             # data x model = 1 x 2
torchrun --nproc-per-node 4 model_group.py --data 2 --model 2
mpirun -n 2 python model_group.py --model 2
python model_group.py                                            # one process, the same batches

All of them have the same parameters after the same iterations, but for the order of sums. In
float32 that order may decide what a max pooling takes, and such nets then differ by more.

Every exchange is a call of its own that nothing overlaps, so that each has a time. train.py shows
how DistributedDataParallel overlaps the gradients' exchange; it takes `data_group` as its
`process_group`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import weft
from weft.train import Distribution, broadcast_parameters

import data
import model
from split import ColumnLinear, Exchanges, joined

GLOBAL_BATCH = 64
LAYERS = {"0": "conv1", "2": "conv2", "5": "ip1", "7": "ip2"}  # Caffe's names
SPLIT = 5  # ip1, 800 inputs and 500 outputs: 93% of the parameters


def main() -> None:
    """Trains, tests, and prints or writes what came of it."""
    options = arguments()
    weft.launch_environment()  # for srun and mpirun
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    parts = None
    if ranks > 1:
        dist.init_process_group("weft")
        parts = Distribution(options.data, options.model)
    elif options.data * options.model > 1:
        raise SystemExit(f"start {options.data * options.model} ranks with torchrun")
    training, held_out = data.mnist(options.mnist) if options.mnist else data.digits()
    dtype = torch.float64 if options.double else torch.float32

    start = time.perf_counter()
    net, exchanges, loss = train(parts, training, options.iterations, options.seed, dtype)
    seconds = time.perf_counter() - start
    share = exchanges.total() / seconds
    report = exchanges.report()
    result = {
        "data": options.data,
        "model": options.model,
        "loss": loss,
        "accuracy": accuracy(net, held_out, parts, dtype),
        "seconds": seconds,
        "communication_share": share,
        "exchanges": report,
    }
    if ranks == 1 or dist.get_rank() == 0:
        show(result)
        if options.json:
            options.json.write_text(json.dumps(result))
    if ranks > 1:
        dist.destroy_process_group()


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=int, default=1, help="parts of the batch")
    parser.add_argument("--model", type=int, default=1, help="parts of the first inner product")
    parser.add_argument("--iterations", type=int, default=900)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--double", action="store_true", help="float64 instead of float32")
    parser.add_argument("--mnist", type=Path, help="folder with MNIST's own files (else: digits)")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args()
    if options.data < 1 or GLOBAL_BATCH % options.data:
        parser.error(f"--data is {options.data}; give a divisor of the batch, {GLOBAL_BATCH}")
    return options


def train(
    parts: Distribution | None,
    training: TensorDataset,
    iterations: int,
    seed: int,
    dtype: torch.dtype,
) -> tuple[nn.Sequential, Exchanges, float]:
    """This rank's net, the times of its exchanges, and the last loss of its part of the batch."""
    exchanges = Exchanges()
    net = start_net(parts, seed, dtype, exchanges)
    optimizer = model.CaffeSGD(net.named_parameters())
    schedule = model.inverse_decay(optimizer)
    loader = batches(parts, training, seed)
    done, epoch = 0, 0
    while done < iterations:
        loader.sampler.set_epoch(epoch)
        loader.dataset.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(images.to(dtype)), labels)
            loss.backward()
            average_gradients(net, parts, exchanges)
            optimizer.step()
            schedule.step()
            done += 1
            if done == iterations:
                break
        epoch += 1
    return net, exchanges, loss.item()


def start_net(
    parts: Distribution | None, seed: int, dtype: torch.dtype, exchanges: Exchanges
) -> nn.Sequential:
    """Rank 0's parameters on all ranks, and then this rank's part of them."""
    torch.manual_seed(seed + (dist.get_rank() if parts else 0))
    net = model.lenet().to(dtype)
    if parts:
        broadcast_parameters(net, "rank0")
    if parts and parts.model_size > 1:
        net[SPLIT] = ColumnLinear(net[SPLIT], parts, exchanges)
    return net


def batches(parts: Distribution | None, training: TensorDataset, seed: int) -> DataLoader:
    """Data part d reads records d, d + data, d + 2 * data, ... of an order that all ranks share."""
    size, index = (parts.data_size, parts.data_index) if parts else (1, 0)
    shifted = data.Shifted(training, seed)
    sampler = DistributedSampler(shifted, size, index, shuffle=True, seed=seed)
    return DataLoader(shifted, GLOBAL_BATCH // size, sampler=sampler, drop_last=True)


def average_gradients(net: nn.Sequential, parts: Distribution | None, exchanges: Exchanges) -> None:
    """The mean over the data group, last layer first. A model group's ranks have equal gradients.

    Of the split layer each rank averages its own rows, with the ranks that have the same rows.
    """
    if parts is None or parts.data_size == 1:
        return
    for name, parameter in reversed(list(net.named_parameters())):
        layer, kind = name.split(".")
        gradient = parameter.grad
        with exchanges.timed(f"{LAYERS[layer]} {kind} gradient, allreduce", gradient.nbytes):
            dist.all_reduce(gradient, dist.ReduceOp.AVG, group=parts.data_group)


@torch.no_grad()
def accuracy(
    net: nn.Sequential, held_out: TensorDataset, parts: Distribution | None, dtype: torch.dtype
) -> float:
    """The share of held-out records that are recognised; each data part looks at its records."""
    size, index = (parts.data_size, parts.data_index) if parts else (1, 0)
    images, labels = (tensor[index::size] for tensor in held_out.tensors)
    right = (net(images.to(dtype)).argmax(dim=1) == labels).sum()
    if size > 1:
        dist.all_reduce(right, group=parts.data_group)
    return right.item() / len(held_out)


def whole_parameters(net: nn.Sequential, parts: Distribution | None) -> dict[str, torch.Tensor]:
    """The parameters of the whole net, on every rank."""
    whole = {name: one.detach() for name, one in net.named_parameters()}
    if parts and parts.model_size > 1:
        for name in (f"{SPLIT}.weight", f"{SPLIT}.bias"):
            whole[name] = joined(whole[name], parts)
    return whole


def show(result: dict) -> None:
    """For people."""
    print(
        f"data x model {result['data']} x {result['model']}: loss {result['loss']:.4f}, accuracy "
        f"{result['accuracy']:.2%}, {result['seconds']:.1f} s, of which exchanges "
        f"{result['communication_share']:.1%}"
    )
    for name, one in result["exchanges"].items():
        print(f"{name:34} {one['bytes']:9} bytes {one['microseconds']:9.1f} us")


if __name__ == "__main__":
    main()
