"""What each rank's window holds under the strategy "tree", and what its signals say.

    data      parameters of all buckets | gradients from child 0 | gradients from child 1 | ...
    signals   the program has something | taken by parent | taken by receiver 0 ... |
              bucket is ready ... | model's piece is here ... |
              piece from child 0 is here ... | from child 1 ... |
              versions: bucket was handed over ..., is up to date ..., was passed on ...

Signals before the versions are set by a put and reset by the rank that takes what it brought. Those
of pieces that a peer has taken count them. Versions only grow. The order of everything follows from
the layout and the ranks, so each rank knows the others' places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from weft.train.sync.layout import Bucket, Layout
from weft.train.sync.tree_shape import Shape
from weft.window import Window

PIECE = 1 << 20
"""Bytes of a bucket that travel by themselves, at least: a rank sends a piece on while the next one
comes. Each costs some work. So a long bucket has `PIECES`, of up to `LONG_PIECE` bytes."""
PIECES = 16
LONG_PIECE = 4 << 20


@dataclass(frozen=True)
class Piece:
    """Elements [first, last) of a bucket."""

    number: int
    """The place among all pieces."""
    bucket: Bucket
    first: int
    last: int
    offset: int
    """Bytes from the begin of all buckets."""


class Places:
    """Offsets and signals of one rank's window. Any rank may compute those of any other."""

    def __init__(self, layout: Layout, shape: Shape, cut: bool) -> None:
        """cut: buckets, into pieces. Else each bucket is one piece."""
        self.buckets = layout.buckets
        self.pieces: list[Piece] = []
        self.offsets: dict[Bucket, int] = {}
        self.bytes = 0
        for bucket in self.buckets:
            self.offsets[bucket] = self.bytes
            nbytes = bucket.length * bucket.dtype.itemsize
            self._cut(bucket, _piece(nbytes) if cut else nbytes)
            self.bytes += nbytes
        self.shape = shape
        self.targets = [] if shape.parent is None else [shape.parent]
        self.targets += shape.receivers

    def _cut(self, bucket: Bucket, nbytes: int) -> None:
        step = nbytes // bucket.dtype.itemsize
        for first in range(0, bucket.length, step or 1):
            offset = self.bytes + first * bucket.dtype.itemsize
            last = min(first + step, bucket.length)
            self.pieces.append(Piece(len(self.pieces), bucket, first, last, offset))

    @cached_property
    def of_bucket(self) -> dict[Bucket, list[Piece]]:
        """The pieces of each bucket."""
        found: dict[Bucket, list[Piece]] = {bucket: [] for bucket in self.buckets}
        for piece in self.pieces:
            found[piece.bucket].append(piece)
        return found

    @property
    def nbytes(self) -> int:
        """Of the window's data."""
        return self.bytes * (1 + len(self.shape.children))

    def inbox(self, child: int, piece: Piece) -> int:
        """Where the piece of the child's gradients arrives."""
        return self.bytes * (1 + self.shape.children.index(child)) + piece.offset

    WAKE = 0

    def taken(self, place: int) -> int:
        """How many further pieces `targets[place]` has taken."""
        return 1 + place

    def ready(self, bucket: Bucket) -> int:
        """This rank's own gradients of the bucket are there."""
        return 1 + len(self.targets) + bucket.number

    def model(self, piece: Piece) -> int:
        """The new parameters of the piece are there."""
        return 1 + len(self.targets) + len(self.buckets) + piece.number

    def gradient(self, child: int, piece: Piece) -> int:
        """The child's gradients of the piece are there."""
        return (
            self.model(self.pieces[0])
            + len(self.pieces) * (1 + self.shape.children.index(child))
            + piece.number
        )

    @property
    def awaited(self) -> int:
        """Signals that are set and reset. The versions come after them."""
        pieces = len(self.pieces) * (1 + len(self.shape.children))
        return 1 + len(self.targets) + len(self.buckets) + pieces

    def handed_over(self, bucket: Bucket) -> int:
        """The round whose gradients are with the parent; at the master, are added up."""
        return self.awaited + bucket.number

    def up_to_date(self, bucket: Bucket) -> int:
        """The round whose update the bucket's parameters have."""
        return self.awaited + len(self.buckets) + bucket.number

    def passed_on(self, bucket: Bucket) -> int:
        """The round whose parameters all receivers have taken: they may be written here."""
        return self.awaited + 2 * len(self.buckets) + bucket.number

    @property
    def signals(self) -> int:
        """Of the window."""
        return self.awaited + 3 * len(self.buckets)


def _piece(nbytes: int) -> int:
    """Bytes of the pieces of a bucket of so many bytes."""
    return max(PIECE, min(nbytes // PIECES, LONG_PIECE))


class Memory:
    """Views of one rank's memory for one piece. Made once, since a step needs all of them."""

    def __init__(self, window: Window, places: Places, piece: Piece) -> None:
        """The bucket's gradients have their place."""
        import torch

        whole, dtype = window.array(), piece.bucket.dtype
        nbytes = (piece.last - piece.first) * dtype.itemsize
        self.gradients = piece.bucket.gradients[piece.first : piece.last]
        """This rank's; then, with those of its children added, what goes up."""
        self.gradient_bytes = self.gradients.view(torch.uint8).numpy()
        self.parameter_bytes = whole[piece.offset : piece.offset + nbytes]
        self.inboxes: list[Any] = []
        """The children's gradients, in the order in which they are added."""
        for child in places.shape.children:
            begin = places.inbox(child, piece)
            self.inboxes.append(torch.from_numpy(whole[begin : begin + nbytes]).view(dtype))
