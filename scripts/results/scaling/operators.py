"""Measures the operators of a step on one core: the share of a socket's core.

Matrix products are oneDNN's for both types. Times are the thread's processor time, so what other
work takes from the core is not counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch

from scaling.cases import CORES, GRID, MEASURED_ROWS, Row, bottom, shape, top
from weft.optim import SplitSGD

from dlrm.model import interact

LEAST_SECONDS, LEAST_TIMES = 0.04, 3
LEARNING_RATE = 0.01
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
Part = Callable[[], object]


@contextmanager
def one_core() -> Iterator[None]:
    """This thread on the first of its cores, with no other thread of torch."""
    cores, threads = os.sched_getaffinity(0), torch.get_num_threads()
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        torch.set_num_threads(threads)


def seconds(work: Callable[[Any], object], prepare: Callable[[], Any] = lambda: None) -> float:
    """The median of some times; `prepare` makes an input for each and is not counted."""
    work(prepare())
    took: list[float] = []
    while len(took) < LEAST_TIMES or sum(took) < LEAST_SECONDS:
        given = prepare()
        start = time.thread_time()
        work(given)
        took.append(time.thread_time() - start)
    return median(took)


def share(whole: int, parts: int) -> int:
    """What the busiest of `parts` gets."""
    return -(-whole // parts)


def perceptrons(turn: Row) -> Row:
    """Seconds of a core for its share of each layer and of the interaction, by operator."""
    name, count, dtype = turn["configuration"], turn["records"], DTYPES[turn["dtype"]]
    with one_core():
        found = {
            f"{what} {inputs}x{outputs}": taken
            for inputs, outputs in sorted({*bottom(name), *top(name)})
            for what, taken in layer(count, inputs, outputs, dtype).items()
        }
        return {"seconds": found | interaction(name, share(count, CORES), dtype)}


def layer(count: int, inputs: int, outputs: int, dtype: torch.dtype) -> dict[str, float]:
    """One layer: forward, the gradient of its inputs, the gradient of its weights.

    Each core has a tile of the operator's output and all that the tile depends on.
    """

    def random(*size: int) -> torch.Tensor:
        return torch.randn(*size).to(dtype)

    rows, columns = GRID
    some, part = share(count, rows), share(outputs, columns)
    into, high = share(inputs, columns), share(outputs, rows)
    x, weight, bias = random(some, inputs), random(part, inputs), random(part)
    gradient, columns_of, before = random(some, outputs), random(into, outputs), random(some, into)
    errors, all_x = random(high, count), random(into, count)
    threshold = torch.ops.aten.threshold_backward
    with torch.no_grad():
        return {
            "forward": seconds(lambda _: product(x, weight, bias, "relu")),
            "inputs": seconds(lambda _: threshold(product(gradient, columns_of), before, 0)),
            "weights": seconds(lambda _: (product(errors, all_x), errors.sum(1))),
        }


def product(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None, then: str = "none"
) -> torch.Tensor:
    """A times the transpose of b, by oneDNN."""
    result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, then, [], "")
    return result


def interaction(name: str, count: int, dtype: torch.dtype) -> dict[str, float]:
    """The interaction of `count` records, forward and backward."""
    one = shape(name)
    x = torch.randn(count, one.dimension).to(dtype).requires_grad_()
    pooled = torch.randn(count, len(one.rows), one.dimension).to(dtype).requires_grad_()
    gradient = torch.randn(count, one.interactions).to(dtype)

    def backward(output: torch.Tensor) -> None:
        torch.autograd.grad(output, (x, pooled), gradient)

    return {
        "interaction forward": seconds(lambda _: interact(x, pooled)),
        "interaction backward": seconds(backward, lambda: interact(x, pooled)),
    }


def tables(turn: Row) -> Row:
    """Seconds of a core for its share of one table's records, and of the dense optimizer."""
    name, dtype = turn["configuration"], DTYPES[turn["dtype"]]
    with one_core():
        found = _one_table(name, dtype)
        return {"seconds": found | {"dense update": _dense_update(name, dtype)}}


def _one_table(name: str, dtype: torch.dtype) -> dict[str, float]:
    """Lookups, and the update by torch's SGD or by Split-SGD. Indices are new each time."""
    one = shape(name)
    count, rows = share(one.minibatch, CORES), MEASURED_ROWS[name]
    weight = torch.full((rows, one.dimension), 0.5)
    bag = torch.nn.EmbeddingBag(rows, one.dimension, mode="sum", sparse=True, _weight=weight)
    optimizer = _optimizer(list(bag.parameters()), dtype)
    gradient = torch.full((count, one.dimension), 0.25, dtype=dtype)

    def indices() -> torch.Tensor:
        return torch.randint(rows, (count, one.lookups))

    def learn(output: torch.Tensor) -> None:
        output.backward(gradient)
        optimizer.step()
        bag.weight.grad = None

    with torch.no_grad():
        lookup = seconds(bag, indices)
    return {"lookup": lookup, "sparse update": seconds(learn, lambda: bag(indices()))}


def _optimizer(parameters: list[torch.nn.Parameter], dtype: torch.dtype) -> torch.optim.Optimizer:
    if dtype == torch.bfloat16:
        return SplitSGD.from_float32(parameters, LEARNING_RATE)
    return torch.optim.SGD(parameters, LEARNING_RATE)


def _dense_update(name: str, dtype: torch.dtype) -> float:
    weight = torch.nn.Parameter(torch.full((share(shape(name).dense_parameters, CORES),), 0.5))
    optimizer = _optimizer([weight], dtype)
    weight.grad = torch.full_like(weight, 0.25)
    return seconds(lambda _: optimizer.step())
