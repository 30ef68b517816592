"""The sizes of the models that can be trained, in one table."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

# Distinct values of each categorical column of Criteo's terabyte log, at most 40 million.
CRITEO_ROWS = (
    39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10,
    2208, 11938, 155, 4, 976, 14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Configuration:
    """One model and its minibatch.

    A perceptron is given by its widths. The bottom one starts with the dense features and ends with
    `dimension`. The top one starts after the interaction and ends with one number, the logit.
    """

    name: str
    rows: tuple[int, ...]  # of each table
    dimension: int  # of an embedding
    lookups: int  # of a record in each table
    bottom: tuple[int, ...]
    top: tuple[int, ...]
    minibatch: int  # records of all ranks together in a step
    shrinks_rows: bool = True
    rows_factor: int = 1  # by which `shrink` has divided the rows

    @property
    def interactions(self) -> int:
        """The inputs of the top perceptron: the bottom's output, and a product for each pair."""
        vectors = len(self.rows) + 1
        return self.dimension + vectors * (vectors - 1) // 2

    @property
    def dense_parameters(self) -> int:
        """Weights and biases of both perceptrons. All of them are summed over the ranks."""
        widths = (self.bottom, (self.interactions, *self.top))
        return sum((a + 1) * b for one in widths for a, b in pairwise(one))

    @property
    def exchanged(self) -> int:
        """Elements that all ranks together exchange in one direction of a step."""
        return len(self.rows) * self.minibatch * self.dimension

    def shrink(self, factor: int) -> Configuration:
        """The same model with fewer rows and a smaller minibatch. Widths and tables stay."""
        rows = factor if self.shrinks_rows else 1
        return dataclasses.replace(
            self,
            rows=tuple(-(-count // rows) for count in self.rows),
            minibatch=max(1, self.minibatch // factor),
            rows_factor=rows,
        )


# Minibatches are the document's global ones for strong scaling. "tiny" is for tests and laptops.
CONFIGURATIONS = {
    one.name: one
    for one in (
        Configuration(
            "tiny", (300, 5, 4000, 120, 60, 2500, 40), 8, 3,
            (4, 16, 8), (32, 16, 1), 240,
        ),
        Configuration(
            "small", (1_000_000,) * 8, 64, 50,
            (512, 512, 64), (1024, 1024, 1024, 1), 8192, shrinks_rows=False,
        ),
        Configuration(
            "large", (6_000_000,) * 64, 256, 100,
            (2048,) * 8 + (256,), (4096,) * 15 + (1,), 16384,
        ),
        Configuration(
            "mlperf", CRITEO_ROWS, 128, 1,
            (13, 512, 256, 128), (1024, 1024, 512, 256, 1), 16384,
        ),
    )
}  # fmt: skip
