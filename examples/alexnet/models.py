"""The networks of CaffeGPI's benchmarks, and VGG-16, for 1000 classes.

Each takes images of any size from `SMALLEST` on and has all its parameters at every size: what the
last convolution leaves is averaged to the size that the first inner product expects. At the
network's own size this changes nothing. GoogLeNet and Inception v3 are without their auxiliary
classifiers.
"""

from collections import OrderedDict
from collections.abc import Callable

import torch
from torch import nn

CLASSES = 1000


class Branches(nn.Module):
    """Several networks on the same input; their channels side by side."""

    def __init__(self, *branches: nn.Module) -> None:
        """Takes the networks, in the order of their channels."""
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Of shape (batch, channels, height, width), as each branch's output is."""
        return torch.cat([branch(images) for branch in self.branches], dim=1)


def alexnet(dropout: float = 0.5) -> nn.Sequential:
    """Caffe's bvlc_alexnet (Krizhevsky et al., 2012): two groups of channels, 243.86 MB."""
    net = nn.Sequential(OrderedDict([
        ("conv1", nn.Conv2d(3, 96, 11, stride=4)), ("relu1", nn.ReLU()),
        ("norm1", nn.LocalResponseNorm(5)), ("pool1", pool()),
        ("conv2", nn.Conv2d(96, 256, 5, padding=2, groups=2)), ("relu2", nn.ReLU()),
        ("norm2", nn.LocalResponseNorm(5)), ("pool2", pool()),
        ("conv3", nn.Conv2d(256, 384, 3, padding=1)), ("relu3", nn.ReLU()),
        ("conv4", nn.Conv2d(384, 384, 3, padding=1, groups=2)), ("relu4", nn.ReLU()),
        ("conv5", nn.Conv2d(384, 256, 3, padding=1, groups=2)), ("relu5", nn.ReLU()),
        ("pool5", pool()), ("size", nn.AdaptiveAvgPool2d(6)), ("flatten", nn.Flatten()),
        ("fc6", nn.Linear(256 * 36, 4096)), ("relu6", nn.ReLU()), ("drop6", nn.Dropout(dropout)),
        ("fc7", nn.Linear(4096, 4096)), ("relu7", nn.ReLU()), ("drop7", nn.Dropout(dropout)),
        ("fc8", nn.Linear(4096, CLASSES)),
    ]))  # fmt: skip
    # Caffe's "gaussian" and "constant" fillers.
    for name, layer in net.named_children():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.normal_(layer.weight, std=0.005 if name in ("fc6", "fc7") else 0.01)
            nn.init.constant_(layer.bias, 0.0 if name in ("conv1", "conv3", "fc8") else 0.1)
    return net


def vgg16(dropout: float = 0.5) -> nn.Sequential:
    """VGG's configuration D (Simonyan and Zisserman, 2014): 138,357,544 parameters."""
    layers: list[nn.Module] = []
    channels = 3
    for width, depth in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(depth):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return started(nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(7), nn.Flatten(),
        nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Dropout(dropout),
        nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(dropout),
        nn.Linear(4096, CLASSES),
    ))  # fmt: skip


def googlenet(dropout: float = 0.4) -> nn.Sequential:
    """Caffe's bvlc_googlenet (Szegedy et al., 2014): 6,998,552 parameters."""

    def conv(before: int, after: int, size: int, stride: int = 1) -> list[nn.Module]:
        return [nn.Conv2d(before, after, size, stride, padding=size // 2), nn.ReLU()]

    def inception(before: int, one: int, to3: int, by3: int, to5: int, by5: int, pooled: int):
        return Branches(
            nn.Sequential(*conv(before, one, 1)),
            nn.Sequential(*conv(before, to3, 1), *conv(to3, by3, 3)),
            nn.Sequential(*conv(before, to5, 1), *conv(to5, by5, 5)),
            nn.Sequential(nn.MaxPool2d(3, 1, padding=1), *conv(before, pooled, 1)),
        )

    return started(nn.Sequential(
        *conv(3, 64, 7, stride=2), pool(), nn.LocalResponseNorm(5),
        *conv(64, 64, 1), *conv(64, 192, 3), nn.LocalResponseNorm(5), pool(),
        inception(192, 64, 96, 128, 16, 32, 32), inception(256, 128, 128, 192, 32, 96, 64), pool(),
        inception(480, 192, 96, 208, 16, 48, 64), inception(512, 160, 112, 224, 24, 64, 64),
        inception(512, 128, 128, 256, 24, 64, 64), inception(512, 112, 144, 288, 32, 64, 64),
        inception(528, 256, 160, 320, 32, 128, 128), pool(),
        inception(832, 256, 160, 320, 32, 128, 128), inception(832, 384, 192, 384, 48, 128, 128),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(1024, CLASSES),
    ))  # fmt: skip


def inception_v3(dropout: float = 0.5) -> nn.Sequential:
    """Inception v3 (Szegedy et al., 2015): 23,834,568 parameters, of them some in BatchNorm."""

    def conv(before: int, after: int, *size: int, stride: int = 1, pad: bool = True) -> nn.Module:
        kernel = size if len(size) == 2 else (size[0], size[0])
        padding = tuple(one // 2 for one in kernel) if pad else 0
        return nn.Sequential(
            nn.Conv2d(before, after, kernel, stride, padding, bias=False),
            nn.BatchNorm2d(after, eps=0.001), nn.ReLU(),
        )  # fmt: skip

    def chain(before: int, *steps: tuple[int, ...], last: int = 1) -> nn.Module:
        """Convolutions, each (channels, kernel); the last one with this stride."""
        layers = []
        for number, (after, *size) in enumerate(steps, start=1):
            short = last if number == len(steps) else 1
            layers.append(conv(before, after, *size, stride=short, pad=short == 1))
            before = after
        return nn.Sequential(*layers)

    def pooled(before: int, after: int) -> nn.Module:
        return nn.Sequential(nn.AvgPool2d(3, 1, padding=1), conv(before, after, 1))

    def fine(n: int, after: int) -> nn.Module:  # at 35 x 35
        return Branches(
            conv(n, 64, 1), chain(n, (48, 1), (64, 5)),
            chain(n, (64, 1), (96, 3), (96, 3)), pooled(n, after),
        )  # fmt: skip

    def middle(n: int, c: int) -> nn.Module:  # at 17 x 17
        return Branches(
            conv(n, 192, 1), chain(n, (c, 1), (c, 1, 7), (192, 7, 1)),
            chain(n, (c, 1), (c, 7, 1), (c, 1, 7), (c, 7, 1), (192, 1, 7)), pooled(n, 192),
        )  # fmt: skip

    def coarse(n: int) -> nn.Module:  # at 8 x 8
        def split() -> nn.Module:
            return Branches(conv(384, 384, 1, 3), conv(384, 384, 3, 1))

        return Branches(
            conv(n, 320, 1), nn.Sequential(conv(n, 384, 1), split()),
            nn.Sequential(chain(n, (448, 1), (384, 3)), split()), pooled(n, 192),
        )  # fmt: skip

    return started(nn.Sequential(
        conv(3, 32, 3, stride=2, pad=False), conv(32, 32, 3, pad=False), conv(32, 64, 3),
        pool(), conv(64, 80, 1), conv(80, 192, 3, pad=False), pool(),
        fine(192, 32), fine(256, 64), fine(288, 64),
        Branches(chain(288, (384, 3), last=2), chain(288, (64, 1), (96, 3), (96, 3), last=2),
                 nn.MaxPool2d(3, 2)),
        middle(768, 128), middle(768, 160), middle(768, 160), middle(768, 192),
        Branches(chain(768, (192, 1), (320, 3), last=2),
                 chain(768, (192, 1), (192, 1, 7), (192, 7, 1), (192, 3), last=2),
                 nn.MaxPool2d(3, 2)),
        coarse(1280), coarse(2048),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(2048, CLASSES),
    ))  # fmt: skip


def pool() -> nn.MaxPool2d:
    """Every network's pooling. Caffe rounds sizes up."""
    return nn.MaxPool2d(3, 2, ceil_mode=True)


def started(net: nn.Sequential) -> nn.Sequential:
    """The same, with Caffe's "xavier" weights, uniform in +-sqrt(3 / inputs), and zero biases."""
    for layer in net.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="linear")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return net


MODELS: dict[str, Callable[[float], nn.Sequential]] = {
    "alexnet": alexnet, "googlenet": googlenet, "inception_v3": inception_v3, "vgg16": vgg16,
}  # fmt: skip
# Pixels a side: what the network is made for, and the least that its pooling leaves something of.
OWN_SIZE = {"alexnet": 227, "googlenet": 224, "inception_v3": 299, "vgg16": 224}
SMALLEST = {"alexnet": 39, "googlenet": 32, "inception_v3": 75, "vgg16": 32}
