"""The layers of a network: bytes of parameters, products an image, and GradientSync's buckets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gpi.cases import LANES, Row

ALEXNET = Path(__file__).resolve().parents[3] / "examples" / "alexnet"


def layers_of(network: str) -> list[Row]:
    """The layers with parameters, in the order of the forward pass.

    `products` are multiplications of an image's forward pass; `bucket` and `lane` those that
    GradientSync gives the layer on ranks of its usual options.
    """
    import torch

    sys.path.insert(0, str(ALEXNET))
    import models

    side = models.OWN_SIZE[network]
    with torch.device("meta"):  # shapes alone
        model = models.MODELS[network](0.0).eval()
        products = _products(model, torch.empty(1, 3, side, side))
    places = _places(model)
    return [
        {"name": name, "bytes": sum(4 * p.numel() for p in module.parameters(recurse=False)),
         "products": products.get(name, 0), **places[name]}
        for name, module in model.named_modules()
        if name in places
    ]  # fmt: skip


def _products(model: Any, images: Any) -> dict[str, int]:
    """Multiplications of convolutions and inner products, by name. Seen in a forward pass."""
    import torch
    from torch import nn

    found: dict[str, int] = {}

    def count(name: str) -> Any:
        def hook(module: Any, inputs: Any, output: Any) -> None:
            # Each output is a sum of as many products as a filter has weights.
            found[name] = output.numel() * module.weight[0].numel()

        return hook

    for name, module in model.named_modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.register_forward_hook(count(name))
    with torch.no_grad():
        model(images)
    return found


def _places(model: Any) -> dict[str, Row]:
    """Bucket and lane of each layer, by name."""
    import torch

    from weft.train.sync.layout import lay_out

    layout = lay_out(model, torch.optim.SGD(model.parameters(), lr=0.1), None, LANES, 1)
    return {
        name: {"bucket": bucket.number, "lane": bucket.lane}
        for bucket in layout.buckets
        for name in bucket.layers()
    }
