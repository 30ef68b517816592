"""How the tables of dlrm.md write what there is and what there is not."""

from __future__ import annotations

NOTHING = "not measured"
DTYPES = {"float32": "float32", "bfloat16": "bf16", "float64": "float64"}


def cell(value: float | None, text: str = "{:.2f}") -> str:
    """A number, or that there is none."""
    return NOTHING if value is None else text.format(value)
