"""Random records, and a click log with a planted structure."""

from __future__ import annotations

import torch

from dlrm.auc import expected_auc
from dlrm.configurations import Configuration


def generator(*numbers: int) -> torch.Generator:
    """Equal numbers give equal random numbers, on any rank."""
    seed = 0
    for number in numbers:
        seed = (seed * 1_000_003 + number + 1) % (1 << 62)
    return torch.Generator().manual_seed(seed)


class RandomRecords:
    """The benchmark's generator: uniform features, uniform rows, labels that mean nothing."""

    def __init__(self, shape: Configuration, seed: int, step: int) -> None:
        """Nothing is drawn yet."""
        self._shape, self._seed, self._step = shape, seed, step

    def dense(self) -> torch.Tensor:
        """Uniform from 0 to 1."""
        return torch.rand(
            self._shape.minibatch, self._shape.bottom[0], generator=self._draw(1 << 20)
        )

    def labels(self) -> torch.Tensor:
        """0 or 1, each as likely."""
        return torch.randint(
            2, (self._shape.minibatch,), generator=self._draw(1 << 21), dtype=torch.float32
        )

    def indices(self, table: int) -> torch.Tensor:
        """Any row, each as likely; a bag may have a row twice."""
        size = (self._shape.minibatch, self._shape.lookups)
        return torch.randint(self._shape.rows[table], size, generator=self._draw(table))

    def _draw(self, part: int) -> torch.Generator:
        return generator(self._seed, self._step, part)


class RandomClicks:
    """Source of `RandomRecords`."""

    def __init__(self, shape: Configuration, seed: int) -> None:
        """Rows, lookups, features and the minibatch are those of `shape`."""
        self._shape, self._seed = shape, seed

    def records(self, step: int) -> RandomRecords:
        """As `Source`."""
        return RandomRecords(self._shape, self._seed, step)


class PlantedRecords(RandomRecords):
    """Records whose probability of a click is known."""

    def __init__(self, log: PlantedClicks, seed: int, step: int) -> None:
        """Nothing is drawn yet."""
        super().__init__(log.shape, seed, step)
        self._log = log

    def indices(self, table: int) -> torch.Tensor:
        """Low rows are more popular than high ones, as in real logs."""
        size = (self._shape.minibatch, self._shape.lookups)
        rows = self._shape.rows[table]
        popular = torch.rand(size, generator=self._draw(table), dtype=torch.float64) ** 3
        return (popular * rows).long().clamp_(max=rows - 1)

    def labels(self) -> torch.Tensor:
        """1 with the record's probability."""
        return torch.bernoulli(self.probabilities(), generator=self._draw(1 << 21)).float()

    def probabilities(self) -> torch.Tensor:
        """Of a click, (minibatch,), float64."""
        return self._log.logits(self.dense(), self.indices).sigmoid()


class PlantedClicks:
    """Source of a click log that a model can learn, with a known best AUC.

    The logit is linear in the features, plus an effect of each looked-up row, plus the product of
    the bags of the first two tables' hidden factors. A model can learn each part: by its
    perceptrons, by its tables, and by its interaction.
    """

    def __init__(self, shape: Configuration, seed: int, first_step: int = 0) -> None:
        """`first_step` other than 0: other records of the same log, for a test."""
        self.shape, self._seed, self._first = shape, seed, first_step
        draw = generator(seed, 1 << 30)
        self._slope = torch.randn(shape.bottom[0], generator=draw, dtype=torch.float64)
        self._effects = [torch.randn(rows, generator=draw) for rows in shape.rows]
        self._factors = [torch.randn(rows, generator=draw) for rows in shape.rows[:2]]

    def records(self, step: int) -> PlantedRecords:
        """As `Source`."""
        return PlantedRecords(self, self._seed, self._first + step)

    def logits(self, dense: torch.Tensor, indices) -> torch.Tensor:
        """(minibatch,), float64. Each of the three parts has a variance of about one half."""
        tables, lookups = len(self.shape.rows), self.shape.lookups
        linear = (dense - 0.5).double() @ self._slope * (6 / len(self._slope)) ** 0.5
        total = linear - 1.0
        for table, effects in enumerate(self._effects):
            total += effects[indices(table)].double().sum(1) * (0.5 / tables / lookups) ** 0.5
        first, second = (f[indices(t)].double().sum(1) for t, f in enumerate(self._factors))
        return total + first * second * 0.5**0.5 / lookups

    def best_auc(self, minibatches: int) -> float:
        """The AUC that nobody can expect to beat on the first minibatches."""
        every = [self.records(step).probabilities() for step in range(minibatches)]
        return expected_auc(torch.cat(every))
