"""The operations of torch.distributed, each as a call and what it should give."""

from __future__ import annotations

import dataclasses

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d
from group import bits, guarded, values


@dataclasses.dataclass
class Case:
    """One call: what its tensors are like, and whether it is waited for through a handle."""

    rank: int
    size: int
    dtype: torch.dtype = torch.float32
    layout: str = "contiguous"
    shape: tuple[int, ...] = (3, 4)
    asynchronous: bool = False
    reduction: str = "SUM"

    def __post_init__(self):
        self.storages = []
        self.op = TWICE if self.reduction == "TWICE" else getattr(dist.ReduceOp, self.reduction)

    def of(self, rank: int, salt: int = 0, shape=None) -> torch.Tensor:
        return values(rank, self.dtype, self.shape if shape is None else shape, salt)

    def placed(self, tensor: torch.Tensor) -> torch.Tensor:
        """`tensor` in this case's layout; what lies between its elements must stay."""
        view, around = guarded(tensor, self.layout)
        self.storages.append((view, around))
        return view

    def blank(self, shape=None) -> torch.Tensor:
        return self.placed(torch.zeros(self.shape if shape is None else shape, dtype=self.dtype))

    def finish(self, work) -> None:
        if self.asynchronous:
            work.wait()
        else:
            assert work is None

    def neighbours_intact(self) -> bool:
        for view, around in self.storages:
            expected, original = guarded(view, self.layout)
            if bits(around) != bits(original) or expected.shape != view.shape:
                return False
        return True

    def reduced(self, tensors: list[torch.Tensor]) -> torch.Tensor:
        wide = torch.complex128 if self.dtype.is_complex else torch.int64
        if self.dtype.is_floating_point:
            wide = torch.float64
        stack = torch.stack([tensor.to(wide) for tensor in tensors])
        return REDUCE[self.reduction](stack, len(tensors)).to(self.dtype)


TWICE = dist._make_nccl_premul_sum(2.0)


def fold(function):
    def over(stack, ranks):
        total = stack[0]
        for more in stack[1:]:
            total = function(total, more)
        return total

    return over


REDUCE = {
    "SUM": lambda stack, ranks: stack.sum(0),
    "AVG": lambda stack, ranks: stack.sum(0) / ranks,
    "PRODUCT": lambda stack, ranks: stack.prod(0),
    "MIN": fold(torch.minimum),
    "MAX": fold(torch.maximum),
    "BAND": fold(torch.bitwise_and),
    "BOR": fold(torch.bitwise_or),
    "BXOR": fold(torch.bitwise_xor),
    "TWICE": lambda stack, ranks: 2 * stack.sum(0),
}


# Operations: what was received and what it should be, pairwise.


def broadcast(c):
    root = c.size - 1
    x = c.placed(c.of(c.rank))
    c.finish(dist.broadcast(x, root, async_op=c.asynchronous))
    return [(x, c.of(root))]


def all_reduce(c):
    x = c.placed(c.of(c.rank))
    c.finish(dist.all_reduce(x, c.op, async_op=c.asynchronous))
    return [(x, c.reduced([c.of(r) for r in range(c.size)]))]


def all_reduce_coalesced(c):
    shapes = [c.shape, (5,), (), (200, 200), (2, 3)]  # packed, alone, packed
    tensors = [c.placed(c.of(c.rank, i, shape)) for i, shape in enumerate(shapes)]
    options = c10d.AllreduceCoalescedOptions()
    options.reduceOp, options.asyncOp = c.op, c.asynchronous
    c.finish(dist.group.WORLD.allreduce_coalesced(tensors, options))
    return [
        (x, c.reduced([c.of(r, i, shape) for r in range(c.size)]))
        for i, (x, shape) in enumerate(zip(tensors, shapes, strict=True))
    ]


def reduce(c):
    x = c.placed(c.of(c.rank))
    c.finish(dist.reduce(x, 0, c.op, async_op=c.asynchronous))
    mine = c.reduced([c.of(r) for r in range(c.size)]) if c.rank == 0 else c.of(c.rank)
    return [(x, mine)]


def all_gather(c):
    x = c.placed(c.of(c.rank))
    out = [c.blank() for _ in range(c.size)]
    c.finish(dist.all_gather(out, x, async_op=c.asynchronous))
    return [(out[r], c.of(r)) for r in range(c.size)]


def all_gather_uneven(c):
    def shape(rank):
        return (*c.shape, rank)

    x = c.placed(c.of(c.rank, shape=shape(c.rank)))
    out = [c.blank(shape(r)) for r in range(c.size)]
    c.finish(dist.all_gather(out, x, async_op=c.asynchronous))
    return [(out[r], c.of(r, shape=shape(r))) for r in range(c.size)]


def all_gather_into_tensor(c):
    x = c.placed(c.of(c.rank))
    out = c.blank((c.size, *c.shape))
    c.finish(dist.all_gather_into_tensor(out, x, async_op=c.asynchronous))
    return [(out, torch.stack([c.of(r) for r in range(c.size)]))]


def all_gather_in_place(c):
    out = c.blank((c.size, *c.shape))
    out[c.rank].copy_(c.of(c.rank))
    c.finish(dist.all_gather_into_tensor(out, out[c.rank], async_op=c.asynchronous))
    return [(out, torch.stack([c.of(r) for r in range(c.size)]))]


def all_gather_coalesced(c):
    shapes = [c.shape, (5,)]
    inputs = [c.placed(c.of(c.rank, i, shape)) for i, shape in enumerate(shapes)]
    out = [[c.blank(shape) for shape in shapes] for _ in range(c.size)]
    options = c10d.AllgatherOptions()
    options.asyncOp = c.asynchronous
    c.finish(dist.group.WORLD.allgather_coalesced(out, inputs, options))
    return [(out[r][i], c.of(r, i, shape)) for r in range(c.size) for i, shape in enumerate(shapes)]


def all_gather_into_tensor_coalesced(c):
    shapes = [c.shape, (5,)]
    inputs = [c.placed(c.of(c.rank, i, shape)) for i, shape in enumerate(shapes)]
    out = [c.blank((c.size, *shape)) for shape in shapes]
    options = c10d.AllgatherOptions()
    options.asyncOp = c.asynchronous
    c.finish(dist.group.WORLD.allgather_into_tensor_coalesced(out, inputs, options))
    return [
        (out[i], torch.stack([c.of(r, i, shape) for r in range(c.size)]))
        for i, shape in enumerate(shapes)
    ]


def gather(c):
    x = c.placed(c.of(c.rank))
    out = [c.blank() for _ in range(c.size)] if c.rank == c.size - 1 else None
    c.finish(dist.gather(x, out, c.size - 1, async_op=c.asynchronous))
    return [(out[r], c.of(r)) for r in range(c.size)] if out else []


def gather_uneven(c):
    def shape(rank):
        return (*c.shape, rank)

    x = c.placed(c.of(c.rank, shape=shape(c.rank)))
    out = [c.blank(shape(r)) for r in range(c.size)] if c.rank == 0 else None
    c.finish(dist.gather(x, out, 0, async_op=c.asynchronous))
    return [(out[r], c.of(r, shape=shape(r))) for r in range(c.size)] if out else []


def scatter(c):
    x = c.blank()
    parts = [c.placed(c.of(r)) for r in range(c.size)] if c.rank == c.size - 1 else None
    c.finish(dist.scatter(x, parts, c.size - 1, async_op=c.asynchronous))
    return [(x, c.of(c.rank))]


def scatter_uneven(c):
    def shape(rank):
        return (*c.shape, rank)

    x = c.blank(shape(c.rank))
    parts = None
    if c.rank == 0:
        parts = [c.placed(c.of(r, shape=shape(r))) for r in range(c.size)]
    c.finish(dist.scatter(x, parts, 0, async_op=c.asynchronous))
    return [(x, c.of(c.rank, shape=shape(c.rank)))]


def reduce_scatter(c):
    parts = [c.placed(c.of(c.rank, r)) for r in range(c.size)]
    x = c.blank()
    c.finish(dist.reduce_scatter(x, parts, c.op, async_op=c.asynchronous))
    return [(x, c.reduced([c.of(r, c.rank) for r in range(c.size)]))]


def reduce_scatter_uneven(c):
    def shape(rank):
        return (*c.shape, rank)

    parts = [c.placed(c.of(c.rank, r, shape(r))) for r in range(c.size)]
    x = c.blank(shape(c.rank))
    c.finish(dist.reduce_scatter(x, parts, c.op, async_op=c.asynchronous))
    return [(x, c.reduced([c.of(r, c.rank, shape(c.rank)) for r in range(c.size)]))]


def reduce_scatter_tensor(c):
    x = c.blank()
    whole = c.placed(torch.stack([c.of(c.rank, r) for r in range(c.size)]))
    c.finish(dist.reduce_scatter_tensor(x, whole, c.op, async_op=c.asynchronous))
    return [(x, c.reduced([c.of(r, c.rank) for r in range(c.size)]))]


def reduce_scatter_tensor_coalesced(c):
    shapes = [c.shape, (5,)]
    out = [c.blank(shape) for shape in shapes]
    parts = [
        c.placed(torch.stack([c.of(c.rank, 10 * i + r, shape) for r in range(c.size)]))
        for i, shape in enumerate(shapes)
    ]
    options = dist.ReduceScatterOptions()
    options.reduceOp, options.asyncOp = c.op, c.asynchronous
    c.finish(dist.group.WORLD.reduce_scatter_tensor_coalesced(out, parts, options))
    return [
        (out[i], c.reduced([c.of(r, 10 * i + c.rank, shape) for r in range(c.size)]))
        for i, shape in enumerate(shapes)
    ]


def all_to_all(c):
    parts = [c.placed(c.of(c.rank, r)) for r in range(c.size)]
    out = [c.blank() for _ in range(c.size)]
    c.finish(dist.all_to_all(out, parts, async_op=c.asynchronous))
    return [(out[r], c.of(r, c.rank)) for r in range(c.size)]


def all_to_all_uneven(c):
    def shape(source, destination):
        return (*c.shape, source + 2 * destination)

    parts = [c.placed(c.of(c.rank, r, shape(c.rank, r))) for r in range(c.size)]
    out = [c.blank(shape(r, c.rank)) for r in range(c.size)]
    c.finish(dist.all_to_all(out, parts, async_op=c.asynchronous))
    return [(out[r], c.of(r, c.rank, shape(r, c.rank))) for r in range(c.size)]


def all_to_all_single(c):
    whole = c.placed(torch.stack([c.of(c.rank, r) for r in range(c.size)]))
    out = c.blank((c.size, *c.shape))
    c.finish(dist.all_to_all_single(out, whole, async_op=c.asynchronous))
    return [(out, torch.stack([c.of(r, c.rank) for r in range(c.size)]))]


def all_to_all_single_split(c):
    def shape(source, destination):
        return (source + 2 * destination, *c.shape)

    def rows(pairs):
        return torch.cat([c.of(*pair, shape(*pair)) for pair in pairs])

    sent = [(c.rank, r) for r in range(c.size)]
    received = [(r, c.rank) for r in range(c.size)]
    whole = c.placed(rows(sent))
    out = c.blank(rows(received).shape)
    to, of = [shape(*p)[0] for p in sent], [shape(*p)[0] for p in received]
    c.finish(dist.all_to_all_single(out, whole, of, to, async_op=c.asynchronous))
    return [(out, rows(received))]


def all_to_all_in_place(c):
    def shape(rank, other):
        return (*c.shape, rank + other)

    parts = [c.placed(c.of(c.rank, r, shape(c.rank, r))) for r in range(c.size)]
    c.finish(dist.all_to_all(parts, parts, async_op=c.asynchronous))
    return [(parts[r], c.of(r, c.rank, shape(r, c.rank))) for r in range(c.size)]


def all_to_all_single_in_place(c):
    whole = c.placed(torch.stack([c.of(c.rank, r) for r in range(c.size)]))
    c.finish(dist.all_to_all_single(whole, whole, async_op=c.asynchronous))
    return [(whole, torch.stack([c.of(r, c.rank) for r in range(c.size)]))]


def all_to_all_single_split_in_place(c):
    def rows(pairs):
        return torch.cat([c.of(*pair, (sum(pair), *c.shape)) for pair in pairs])

    whole = c.placed(rows([(c.rank, r) for r in range(c.size)]))
    splits = [c.rank + r for r in range(c.size)]
    c.finish(dist.all_to_all_single(whole, whole, splits, splits, async_op=c.asynchronous))
    return [(whole, rows([(r, c.rank) for r in range(c.size)]))]


def send_recv(c):
    right, left = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    if c.size == 1:
        return []
    x, y = c.placed(c.of(c.rank)), c.blank()
    if c.asynchronous:
        for work in [dist.isend(x, right, tag=3), dist.irecv(y, left, tag=3)]:
            work.wait()
    elif c.rank % 2 == 0 and c.rank + 1 < c.size:
        dist.send(x, right, tag=4)
        dist.recv(y, right, tag=4)
        return [(y, c.of(right))]
    elif c.rank % 2 == 1:
        assert dist.recv(y, left, tag=4) == left
        dist.send(x, left, tag=4)
        return [(y, c.of(left))]
    else:
        return []
    return [(y, c.of(left))]


MOVES = [broadcast, all_gather, all_gather_uneven, all_gather_into_tensor, all_gather_in_place,
         all_gather_coalesced, all_gather_into_tensor_coalesced, gather, gather_uneven, scatter,
         scatter_uneven, all_to_all, all_to_all_uneven, all_to_all_single, all_to_all_single_split,
         all_to_all_in_place, all_to_all_single_in_place, all_to_all_single_split_in_place,
         send_recv]  # fmt: skip
REDUCTIONS = [all_reduce, all_reduce_coalesced, reduce, reduce_scatter, reduce_scatter_uneven,
              reduce_scatter_tensor, reduce_scatter_tensor_coalesced]  # fmt: skip
