"""Handwritten digits as 1x28x28 float32 images in [0, 1), in memory."""

import gzip
import struct
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from torch.utils.data import Dataset, TensorDataset


class Shifted(Dataset):
    """Images seen through a window that lies up to `reach` pixels off, drawn again each epoch.

    It is Caffe's random crop, and what 1198 training digits need not to be learnt by heart.
    A record's shift depends on seed, epoch and record only, not on the rank that reads it. So two
    ranks see the shifts that one process would see.
    """

    def __init__(self, source: TensorDataset, seed: int, reach: int = 1) -> None:
        """Takes (images, labels)."""
        images, self.labels = source.tensors
        self.images = functional.pad(images, [reach] * 4)
        self.size = images.shape[-1]
        self.seed, self.choices = seed, 2 * reach + 1
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Draws all records' shifts for an epoch."""
        random = torch.Generator().manual_seed(self.seed * 100_003 + epoch)
        shape = (len(self.labels), 2)
        self.shifts = torch.randint(self.choices, shape, generator=random).tolist()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, record: int) -> tuple[torch.Tensor, torch.Tensor]:
        y, x = self.shifts[record]
        window = self.images[record, :, y : y + self.size, x : x + self.size]
        return window, self.labels[record]


def digits() -> tuple[TensorDataset, TensorDataset]:
    """The 1797 digits that ship inside scikit-learn (UCI, 8x8), scaled to 28x28.

    A third is held out, the same share of every digit.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    source = load_digits()
    small = torch.from_numpy(source.images).float().unsqueeze(1) / 17  # grey levels 0 .. 16
    images = functional.interpolate(small, size=(28, 28), mode="bilinear")
    labels = torch.from_numpy(source.target).long()
    records = range(len(labels))
    parts = train_test_split(records, test_size=1 / 3, random_state=0, stratify=source.target)
    training, held_out = (TensorDataset(images[part], labels[part]) for part in parts)
    return training, held_out


def mnist(folder: Path) -> tuple[TensorDataset, TensorDataset]:
    """MNIST's own four files, gzipped or not, with its own test set held out."""

    def read(part: str) -> TensorDataset:
        images = torch.from_numpy(read_idx(folder, f"{part}-images-idx3-ubyte"))
        labels = torch.from_numpy(read_idx(folder, f"{part}-labels-idx1-ubyte"))
        return TensorDataset(images.float().unsqueeze(1) / 256, labels.long())

    return read("train"), read("t10k")


def read_idx(folder: Path, name: str) -> np.ndarray:
    """An idx file of unsigned bytes: 0, 0, type 8, dimensions; each size in 4 bytes; the data."""
    plain, packed = folder / name, folder / f"{name}.gz"
    if not plain.exists() and not packed.exists():
        raise SystemExit(f"--mnist {folder}: neither {name} nor {name}.gz is there")
    raw = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    zeros, kind, dimensions = struct.unpack_from(">HBB", raw)
    if zeros != 0 or kind != 8:
        raise SystemExit(f"--mnist {folder}: {name} is no idx file of unsigned bytes")
    shape = struct.unpack_from(f">{dimensions}I", raw, 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape).copy()
