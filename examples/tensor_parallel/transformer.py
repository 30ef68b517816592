"""A small decoder whose layers can be divided between ranks: Megatron's way.

The first linear map of each half of a layer is cut by its outputs (a rank has some of the heads,
some of the hidden units), the second by its inputs. So a rank computes a part of the sum, and one
allreduce completes it: two a layer. Everything else every rank has whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

AllReduce = Callable[[torch.Tensor], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of the whole model."""

    layers: int = 6
    width: int = 512
    heads: int = 8
    context: int = 256
    symbols: int = 128  # ASCII


class Attention(nn.Module):
    """Some of the heads. Keys and values of the positions so far are kept between calls."""

    def __init__(self, shape: Shape, ranks: int) -> None:
        """Has 1 / ranks of the heads."""
        super().__init__()
        self.heads, self.size = shape.heads // ranks, shape.width // shape.heads
        self.qkv = nn.Linear(shape.width, 3 * self.heads * self.size, bias=False)
        self.out = nn.Linear(self.heads * self.size, shape.width, bias=False)
        past = (1, self.heads, shape.context, self.size)
        self.register_buffer("keys", torch.zeros(past), persistent=False)
        self.register_buffer("values", torch.zeros(past), persistent=False)

    def forward(self, x: torch.Tensor, position: int | None) -> torch.Tensor:
        """Whole texts (position is None), or one more symbol of one text."""
        batch, length, _ = x.shape
        split = self.qkv(x).view(batch, length, 3, self.heads, self.size)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        if position is None:
            y = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            self.keys[:, :, position], self.values[:, :, position] = key[:, :, 0], value[:, :, 0]
            seen = slice(0, position + 1)
            y = functional.scaled_dot_product_attention(
                query, self.keys[:, :, seen], self.values[:, :, seen]
            )
        return self.out(y.transpose(1, 2).reshape(batch, length, -1))


class Layer(nn.Module):
    """Attention and a perceptron; `all_reduce` completes what each rank has a part of."""

    def __init__(self, shape: Shape, ranks: int, all_reduce: AllReduce) -> None:
        """A rank's part of a layer."""
        super().__init__()
        hidden = 4 * shape.width // ranks
        self.all_reduce = all_reduce
        self.before, self.between = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.attention = Attention(shape, ranks)
        self.up = nn.Linear(shape.width, hidden, bias=False)
        self.down = nn.Linear(hidden, shape.width, bias=False)

    def forward(self, x: torch.Tensor, position: int | None) -> torch.Tensor:
        """The same on all ranks."""
        x = x + self.all_reduce(self.attention(self.before(x), position))
        return x + self.all_reduce(self.down(functional.gelu(self.up(self.between(x)))))


class Decoder(nn.Module):
    """One rank's part of the model; the whole of it with one rank."""

    def __init__(self, shape: Shape, ranks: int = 1, all_reduce: AllReduce = lambda x: x) -> None:
        """`all_reduce` adds up over the ranks and returns the sum; it may write its argument."""
        super().__init__()
        if shape.heads % ranks:
            raise SystemExit(f"{ranks} ranks cannot share {shape.heads} heads")
        self.symbols = nn.Embedding(shape.symbols, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.layers = nn.ModuleList(Layer(shape, ranks, all_reduce) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)

    def forward(self, symbols: torch.Tensor, position: int | None = None) -> torch.Tensor:
        """Scores of the next symbol: of (batch, length) symbols, or of the one at `position`."""
        length = symbols.shape[1]
        places = torch.arange(length) if position is None else torch.tensor([position])
        x = self.symbols(symbols) + self.positions(places)
        for layer in self.layers:
            x = layer(x, position)
        return self.norm(x) @ self.symbols.weight.t()


def part_of(state: dict[str, torch.Tensor], shape: Shape, rank: int, ranks: int) -> dict:
    """The part of the whole model's parameters that `rank` has."""

    def part(name: str, whole: torch.Tensor) -> torch.Tensor:
        if name.endswith("qkv.weight"):
            heads = whole.view(3, shape.heads, -1, shape.width).chunk(ranks, 1)[rank]
            return heads.reshape(-1, shape.width)
        if name.endswith("up.weight"):
            return whole.chunk(ranks, 0)[rank]
        if name.endswith(("out.weight", "down.weight")):
            return whole.chunk(ranks, 1)[rank].contiguous()
        return whole

    return {name: part(name, whole) for name, whole in state.items()}
