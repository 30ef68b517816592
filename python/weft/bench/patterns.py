"""Inputs whose results are known exactly: small integers, other ones each iteration.

Element e of rank r's input in iteration i is `tile(r, i)[e mod PERIOD]`. The period is a prime, so
that a block in the wrong place is seen. Sums stay below 128: exact in every type.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.bench.cases import Case

PERIOD = 4093
_STORAGE = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def storage(dtype: str) -> np.dtype:
    """NumPy's type for the memory of `dtype`: itself, or its bits where NumPy has no such type."""
    return np.dtype(_STORAGE.get(dtype, dtype))


def encoded(values: npt.NDArray[np.int64], dtype: str) -> np.ndarray:
    """Integers as `dtype`. Values of 8-bit floats are bit patterns: they are only moved."""
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(storage(dtype))


def tile(rank: int, iteration: int, ranks: int) -> npt.NDArray[np.int64]:
    """One period of a rank's input: a hash of place, rank and iteration."""
    largest = max(1, min(3, 127 // ranks))
    place = np.arange(PERIOD, dtype=np.uint64)
    mixed = place * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64(((rank + 1) * 0xBF58476D1CE4E5B9 + iteration * 0x94D049BB133111EB) % 2**64)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return ((mixed >> np.uint64(33)) % np.uint64(largest + 1)).astype(np.int64)


def expected(case: Case, rank: int, iteration: int, shift: int) -> np.ndarray | None:
    """This rank's output after an operation whose inputs began `shift` elements into the tile."""
    count, n = case.count, case.ranks

    def part(r: int, start: int, elements: int) -> npt.NDArray[np.int64]:
        return np.resize(np.roll(tile(r, iteration, n), -(start + shift) % PERIOD), elements)

    if case.sides(rank)[1] is None:
        return None
    if case.collective in ("allreduce", "reduce"):
        values = np.sum([part(r, 0, count) for r in range(n)], axis=0)
    elif case.collective == "reduce_scatter":
        values = np.sum([part(r, rank * count, count) for r in range(n)], axis=0)
    elif case.collective in ("allgather", "gather"):
        values = np.concatenate([part(r, 0, count) for r in range(n)])
    elif case.collective == "alltoall":
        values = np.concatenate([part(r, rank * count, count) for r in range(n)])
    elif case.collective == "scatter":
        values = part(0, rank * count, count)
    elif case.collective == "sendrecv":
        values = part((rank - 1) % n, 0, count)
    else:
        values = part(0, 0, count)
    return encoded(values, case.dtype)


def fill(array: np.ndarray, values: np.ndarray, shift: int) -> None:
    """Rewrites `array` with the tile, from its element `shift` on."""
    values = np.roll(values, -shift)
    whole = array.size // PERIOD * PERIOD
    array[:whole].reshape(-1, PERIOD)[:] = values
    array[whole:] = values[: array.size - whole]
