"""What a strategy does, and the strategies by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from weft.train.sync.layout import Bucket

Hyperparameters = list[dict[str, Any]]
TREES = ("tree", "flat_tree")
"""Strategies whose master updates a layer by itself."""


class Strategy(Protocol):
    """How gradients become equal updates on all ranks.

    In a step `start` is called once for each live bucket and lane in reverse model order, `settle`
    any number of times, then `begin_update` once for all live buckets, then `finish_update` for
    each bucket in an order of this rank's own. So `finish_update` starts no collective.
    """

    def prepare(self, bucket: Bucket) -> None:
        """Gives the bucket its memory. Called before each of its rounds."""

    def start(self, bucket: Bucket) -> None:
        """Starts to average `bucket.gradients`. They must not be touched before `settle`."""

    def under_way(self, bucket: Bucket) -> bool:
        """Whether gradients are being averaged, and `settle` has not been called since."""

    def settle(self, bucket: Bucket) -> None:
        """Waits until the mean is there. Does nothing if nothing is under way."""

    def begin_update(self, buckets: list[Bucket], values: Hyperparameters, later: bool) -> None:
        """Takes a step with the averages of used slots, which it waits for if it has to.

        values: the hyperparameters of the optimizer's groups. later: `finish_update` follows, and
        has the same values. Else all parameters are up to date when this returns.
        """

    def finish_update(self, bucket: Bucket, values: Hyperparameters) -> None:
        """The bucket's parameters are up to date when this returns."""

    def quiet(self) -> None:
        """No other rank reads parameters here any more: the program may write them."""

    @property
    def halfway(self) -> bool:
        """Whether some parameters have the next update, and `begin_update` has not been called."""

    def norm(self, buckets: list[Bucket], norm_type: float) -> Any:
        """The norm of all settled gradients: a tensor of one element. Collective if need be."""

    def scale(self, buckets: list[Bucket], factor: Any) -> None:
        """Multiplies all settled gradients."""

    def state_dict(self) -> dict[str, Any]:
        """That of the optimizer in one process. Collective where ranks have parts of the state."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes such a state, of any number of ranks."""

    def close(self) -> None:
        """Leaves the parameters and the optimizer to the user."""


def strategies() -> dict[str, Callable[..., Strategy]]:
    """Constructors by name. They take a Layout, Lanes, Updates and Words; trees also `early`."""
    from weft.train.sync.allreduce import Allreduce
    from weft.train.sync.sharded import Sharded
    from weft.train.sync.tree import FlatTree, Tree

    return {"allreduce": Allreduce, "sharded": Sharded, "tree": Tree, "flat_tree": FlatTree}
