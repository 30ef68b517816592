"""Inputs as arrays, results, and symmetric memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from weft import _core
from weft.errors import InvalidArgument


def empty(shape: int | Sequence[int], dtype: Any = "float32") -> np.ndarray:
    """A zeroed array in symmetric memory: peers read and write it directly.

    Page aligned, of any NumPy dtype (also those of ml_dtypes). Local: no other rank takes part.
    The memory goes when the last view of it goes. A forked child's writes stay its own; it may see
    what its parent writes later. Thread safe.
    """
    dtype = np.dtype(dtype)
    shape = tuple(shape) if isinstance(shape, Iterable) else (operator.index(shape),)
    count = math.prod(shape)
    if any(extent < 0 for extent in shape):
        raise InvalidArgument(f"shape {shape} has a negative extent")
    if dtype.hasobject:
        raise InvalidArgument(f"dtype {dtype} holds Python objects, which no peer can read")
    if count * dtype.itemsize == 0:
        return np.empty(shape, dtype)
    return _core.symmetric_bytes(count * dtype.itemsize).view(dtype).reshape(shape)


def is_symmetric(x: Any) -> bool:
    """Whether peers can read and write `x` where it lies: a contiguous array in symmetric memory.

    Takes what a collective takes as input; for a tensor that requires grad pass `x.detach()`.
    Local. Thread safe.
    """
    return _core.is_symmetric(as_array(x, "is_symmetric: x"))


def elements(x: Any) -> int:
    """The number of elements of an array."""
    return math.prod(x.shape)


def like(x: Any, shape: Sequence[int]) -> Any:
    """A new array of the kind of `x`: a tensor for a tensor, else NumPy's."""
    if hasattr(x, "new_empty"):
        return x.new_empty(tuple(shape))
    if isinstance(x, np.ndarray):
        return np.empty(shape, x.dtype)
    try:
        return np.empty(shape, np.from_dlpack(x).dtype)
    except (BufferError, RuntimeError, TypeError) as error:
        raise InvalidArgument(
            f"no NumPy array can hold the result for a {type(x).__name__} ({error}): pass out"
        ) from None


def as_array(x: Any, who: str) -> Any:
    """`x` as something that has a shape and that the core can read. `who` starts the error."""
    if hasattr(x, "shape") and (hasattr(x, "__dlpack__") or isinstance(x, np.ndarray)):
        return x
    try:
        return np.asarray(memoryview(x))
    except TypeError:
        raise InvalidArgument(
            f"{who} is a {type(x).__name__}: pass a NumPy array, or an object with DLPack or the "
            "buffer protocol"
        ) from None
