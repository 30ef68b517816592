"""The candidates for a collective: algorithms, their parameters, chunks."""

from __future__ import annotations

import re

from weft import _core
from weft._core import Topology, find_algorithm
from weft.sizes import size_text

CHUNKS = tuple(1 << power for power in range(14, 21))  # 16 KiB to 1 MiB
_RADIXES = (4, 8)  # beside the default, 2
_AHEAD = {  # chunks, beside the default, 1
    "allgather/direct": 7, "alltoall/direct": 7, "reduce_scatter/direct": 7,
    "allreduce/two_shot": 4,
}  # fmt: skip


def algorithms(
    collective: str, ranks: int, *, symmetric: bool, topology: Topology | None = None
) -> list[str]:
    """Every algorithm that supports `ranks` ranks, with the parameters that are worth a trial.

    Algorithms that reach into peers' memory are candidates only if buffers are `symmetric`; those
    that serve equal counts only are none. Parameters that fit a topology are written out: a
    communicator does not know it.
    """
    found: dict[str, None] = {}  # in order; two may become the same on a topology
    for name in _core.algorithm_names():
        algorithm = find_algorithm(name)
        if algorithm.collective != collective:
            continue
        for text in _variants(name, ranks):
            variant = find_algorithm(text)
            fitted = _core.fit(variant, ranks, {}, topology) if topology else {}
            if variant.refuses(ranks, variant.preset | fitted):
                continue
            if _core.needs_equal_counts(variant, ranks):
                continue
            if symmetric or not _core.reaches_into_peers(variant, ranks):
                found[spelled(name, variant.preset | fitted)] = None
    return list(found)


def spelled(name: str, params: dict[str, int | str | list[int]]) -> str:
    """With parameters: "knomial" and {"radix": 4} are "knomial(radix=4)"."""
    inside = ",".join(f"{key}={value}".replace(" ", "") for key, value in sorted(params.items()))
    return f"{name}({inside})" if inside else name


def _variants(name: str, ranks: int) -> list[str]:
    if name in ("broadcast/knomial", "broadcast/knomial_staged"):
        return [name, *(f"{name}(radix={r})" for r in _RADIXES if r <= ranks)]
    if name in ("allreduce/two_level", "allreduce/multi_leader", "broadcast/two_level"):
        return [name, *(f"{name}(node={n})" for n in range(2, ranks) if ranks % n == 0)]
    if name in _AHEAD:
        return [name, f"{name}(ahead={_AHEAD[name]})"]
    return [name]


def with_chunks(text: str, nbytes: int) -> list[str]:
    """A candidate with each chunk that would cut a message of `nbytes` bytes."""
    return [chunked(text, chunk) for chunk in CHUNKS if chunk < nbytes]


def chunked(text: str, chunk: int) -> str:
    """A candidate with another chunk: "ring" and 65536 are "ring(chunk=64K)"."""
    name, _, inside = text.removesuffix(")").partition("(")
    kept = re.sub(r"(^|,)chunk=[^,]*", "", inside).removeprefix(",")
    return f"{name}({kept + ',' if kept else ''}chunk={size_text(chunk)})"
