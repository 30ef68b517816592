"""The hybrid model: perceptrons on every rank, tables divided over the ranks."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import nn

from dlrm.configurations import Configuration
from dlrm.exchange import Exchange
from dlrm.records import Minibatch
from dlrm.stopwatch import Stopwatch
from dlrm.tables import Split, Tables
from dlrm.ways import EXCHANGES


class DLRM(nn.Module):
    """This rank's part of the model.

    `tables` are this rank's own. `dense` is on every rank, with equal parameters: wrap it in
    DistributedDataParallel by `replace_dense`, or give it to GradientSync.
    """

    def __init__(
        self,
        shape: Configuration,
        split: Split,
        *,
        exchange: str = "alltoall",
        blocking: bool = False,
        dtype: torch.dtype = torch.float32,
        seed: int = 0,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        """Collective if there is more than one rank. `exchange`: a name in EXCHANGES."""
        super().__init__()
        self.tables = Tables(shape, split.mine, seed, dtype, sparse=True)
        self.exchange = EXCHANGES[exchange](
            split, shape.dimension, stopwatch or Stopwatch(), blocking
        )
        self.dense = self.dense_module = Dense(shape, split, self.exchange, seed, dtype)

    def replace_dense(self, wrapped: nn.Module) -> None:
        """The forward pass then calls `wrapped`, which calls `dense_module`."""
        self.dense = wrapped

    def forward(self, batch: Minibatch) -> torch.Tensor:
        """A logit for each of this rank's records."""
        arriving = self.exchange.start(self.tables(batch.owned))
        return self.dense(batch.dense, batch.shared, arriving)


class Dense(nn.Module):
    """What every rank has: both perceptrons, and the tables that are not divided."""

    def __init__(
        self, shape: Configuration, split: Split, exchange: Exchange, seed: int, dtype: torch.dtype
    ) -> None:
        """Parameters depend on the seed only."""
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.bottom = perceptron(shape.bottom, generator, last_relu=True)
        self.top = perceptron((shape.interactions, *shape.top), generator, last_relu=False)
        self.shared = Tables(shape, split.shared, seed, torch.float32, sparse=False)
        self.to(dtype)
        self._exchange = exchange
        order = [*(t for tables in split.owned for t in tables), *split.shared]
        self._places = [order.index(t) for t in range(len(order))] if split.shared else None

    def forward(
        self, dense: torch.Tensor, shared: list[torch.Tensor], arriving: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        """The bottom perceptron runs while embeddings travel."""
        x = self.bottom(dense)
        pooled = self._exchange.complete(arriving)
        if self._places is not None:
            pooled = torch.cat([pooled, torch.stack(self.shared(shared), dim=1)], dim=1)
            pooled = pooled[:, self._places]  # in the tables' order, whoever owns them
        return self.top(interact(x, pooled)).squeeze(1)


def interact(x: torch.Tensor, pooled: torch.Tensor) -> torch.Tensor:
    """The bottom's output, followed by the dot product of each pair of a record's vectors.

    From (records, dimension) and (records, tables, dimension). A vector is not paired with itself.
    """
    vectors = torch.cat([x.unsqueeze(1), pooled], dim=1)
    products = torch.bmm(vectors, vectors.transpose(1, 2))
    rows, columns = torch.tril_indices(vectors.shape[1], vectors.shape[1], offset=-1)
    return torch.cat([x, products[:, rows, columns]], dim=1)


def perceptron(
    widths: tuple[int, ...], generator: torch.Generator, last_relu: bool
) -> nn.Sequential:
    """Linear layers with ReLU between them, with the initial weights of Naumov et al."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layer = nn.utils.skip_init(nn.Linear, inputs, outputs)
        nn.init.normal_(layer.weight, std=math.sqrt(2 / (inputs + outputs)), generator=generator)
        nn.init.normal_(layer.bias, std=math.sqrt(1 / outputs), generator=generator)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*(layers if last_relu else layers[:-1]))
