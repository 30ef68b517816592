"""The document's trees as algorithms: gradients up a binomial tree, models down a heap.

    4 ranks, gradients: 3 -> 1, then 1 -> 0 and 2 -> 0     models: 0 -> 1, 2, 3

Gradients land in a buffer of their own and are added to the rank's own ones. Models land where
they are used and go on from there (`write_notify` into segments, without copies in between).
"""

from __future__ import annotations

from typing import Any

import weft
from weft.train.sync.tree_shape import flat_shape, model_parent

UP, DOWN = "reduce/caffe_gpi", "broadcast/caffe_gpi"


def write_up(b: Any, first: int = 0, count: int | None = None) -> None:
    """Gradients go up a binomial tree, over `count` ranks from `first` on; by default over all.

    A parent's number is its child's with the highest bit cleared.
    """
    place, channel = Place(b, first, count), b.channel(slots=2)
    if place.shape is None:
        return
    parent, children = place.parent_of_gradients, place.at(place.shape.children)
    with b.chunks():
        for child in children:
            b.wait(child, channel, of=b.input())
        terms = [b.input(), *(b.slot(child, channel) for child in children)]
        if parent is None:
            b.reduce([b.output()], terms, last=True)
        elif children:
            b.reduce([b.slot(channel)], terms)
            b.signal(parent, channel, of=b.input())
        else:
            b.put(b.input(), parent, channel)
        for child in children:
            b.credit(child, channel, of=b.input())


def write_down(b: Any, first: int = 0, count: int | None = None) -> None:
    """Models go down a heap, into the outputs of symmetric memory."""
    place, channel = Place(b, first, count), b.channel(slots=2)
    if place.shape is None:
        return
    parent, receivers = place.parent_of_models, place.at(place.shape.receivers)
    with b.chunks():
        if parent is None:
            b.copy([b.output()], b.input())
        else:
            b.wait(parent, channel, of=b.output())
            b.copy([b.output()], b.slot(parent, channel))  # nothing, if it is there already
            b.credit(parent, channel, of=b.output())
        if receivers:
            b.put(b.output(), receivers, channel, dst=[b.output_of(rank) for rank in receivers])


class Place:
    """A rank's place in both trees."""

    def __init__(self, b: Any, first: int, count: int | None) -> None:
        """The trees are over `count` ranks from `first` on."""
        size, number = b.ranks if count is None else count, b.rank - first
        self._first = first
        self.shape = flat_shape(number, size) if 0 <= number < size else None
        """None: the rank is in none of them."""
        self.parent_of_gradients: int | None = None
        self.parent_of_models: int | None = None
        if self.shape is not None and self.shape.parent is not None:
            self.parent_of_gradients = first + self.shape.parent
            self.parent_of_models = first + model_parent(number, size)

    def at(self, numbers: list[int]) -> list[int]:
        """The ranks with these numbers."""
        return [self._first + number for number in numbers]


def register() -> None:
    """Both are proved for 1 to 5 and 8 ranks."""
    for name, write in ((UP, write_up), (DOWN, write_down)):
        weft.plan.algorithm(name, refuses=lambda ranks, params: _refusal(params))(write)


def _refusal(params: dict[str, Any]) -> str | None:
    return "the master is rank 0" if params.get("root", 0) else None
