"""The two trees of CaffeGPI: gradients go up a binomial tree, models come down a heap.

    8 ranks, gradients        8 ranks, models (b = 2)
          0                         0
        / | \\                     1     2
       1  2  4                   3 4   5 6
      /|  |                     7
     3 5  6
     |
     7

Kuehn, Keuper, Pfreundt, "Using GPI-2 for Distributed Memory Parallelization of the Caffe Toolbox to
Speed up Deep Neural Network Training". The document has one rank a node. Several ranks of a node
are joined first.
"""

from __future__ import annotations

from dataclasses import dataclass


def gradient_parent(rank: int) -> int:
    """The rank with its highest set bit cleared. Rank 0 has none."""
    return rank & ~(1 << (rank.bit_length() - 1))


def gradient_children(rank: int, size: int) -> list[int]:
    """Those whose parent is `rank`, in rising order."""
    every = (rank | 1 << bit for bit in range(rank.bit_length(), size.bit_length()))
    return [child for child in every if child < size]


def branches(size: int) -> int:
    """The b >= 2 for which b times the levels below the root is least; the smallest of those."""
    return min(range(2, max(size, 3)), key=lambda b: (b * _levels(size, b), b))


def _levels(size: int, b: int) -> int:
    levels, ranks, width = 0, 1, 1
    while ranks < size:
        width *= b
        ranks += width
        levels += 1
    return levels


def model_parent(rank: int, size: int) -> int:
    """Rank 0 has none."""
    return (rank - 1) // branches(size)


def model_children(rank: int, size: int) -> list[int]:
    """B * rank + 1 to b * rank + b, as far as there are such ranks."""
    b = branches(size)
    return list(range(min(b * rank + 1, size), min(b * rank + b + 1, size)))


@dataclass(frozen=True)
class Shape:
    """One rank's place in both trees."""

    parent: int | None
    """Where its gradients go. None: it is the master."""
    children: list[int]
    """Whose gradients come to it, in the order in which they are added."""
    sender: int | None
    """From whom the model comes. None: it is the master."""
    receivers: list[int]
    """To whom it sends the model."""

    def peers(self) -> set[int]:
        """All of these."""
        every = [*self.children, *self.receivers, self.parent, self.sender]
        return {rank for rank in every if rank is not None}


def flat_shape(rank: int, size: int) -> Shape:
    """The document's trees, over the ranks in their order."""
    return Shape(
        gradient_parent(rank) if rank else None,
        gradient_children(rank, size),
        model_parent(rank, size) if rank else None,
        model_children(rank, size),
    )


def shape_of(rank: int, place: list[int]) -> Shape:
    """The document's trees twice: over the ranks of each node, and over the nodes' first ranks.

    So each node sends its gradients, and takes the model, once.

    place: the node of each rank, as `Communicator.place`.
    """
    nodes: list[list[int]] = [[] for _ in range(1 + max(place))]
    for one, node in enumerate(place):
        nodes[node].append(one)
    mates = nodes[place[rank]]
    within = _of(flat_shape(mates.index(rank), len(mates)), mates)
    if rank != mates[0]:
        return within
    across = _of(flat_shape(place[rank], len(nodes)), [node[0] for node in nodes])
    return Shape(
        across.parent,
        within.children + across.children,
        across.sender,
        across.receivers + within.receivers,
    )


def _of(shape: Shape, ranks: list[int]) -> Shape:
    """The shape with each number replaced by the rank that has it."""
    return Shape(
        None if shape.parent is None else ranks[shape.parent],
        [ranks[child] for child in shape.children],
        None if shape.sender is None else ranks[shape.sender],
        [ranks[receiver] for receiver in shape.receivers],
    )
