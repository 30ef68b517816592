"""Short names of what messages carry."""

from __future__ import annotations

from collections.abc import Iterable

from weft.draw.schedule import Message, Schedule, Value

# Kinds of payloads: their class in drawings, and a word for the legend.
KINDS = {
    "part": "a rank's own data",
    "sum": "a partial sum",
    "result": "a result",
    "word": "no data",
}
COLOURS = {"part": "#2563a8", "sum": "#c4651a", "result": "#2c8a4b", "word": "#777777"}


def kind(message: Message, ranks: int) -> str:
    """One of KINDS."""
    if message.value is None:
        return "word"
    if len(message.value.ranks) == 1:
        return "part"
    return "result" if len(message.value.ranks) == ranks else "sum"


def label(value: Value | None, schedule: Schedule) -> str:
    """Short: "x2[0]" is rank 2's block 0, "Σ0-2[1]" a sum of three, "y[3]" one of all ranks."""
    if value is None:
        return ""
    shape = schedule.plan.shape
    blocks = shape.input_blocks if value.side == "input" else shape.output_blocks
    if len(value.ranks) == 1:
        text = f"x{min(value.ranks)}"
    elif len(value.ranks) == shape.ranks:
        text = "y"
    else:
        text = f"Σ{spans(value.ranks)}"
    if blocks > 1:
        last = value.block + value.blocks - 1
        text += f"[{value.block}]" if value.blocks == 1 else f"[{value.block}-{last}]"
    return text if value.chunk is None else f"{text}.{value.chunk}"


def spans(numbers: Iterable[int]) -> str:
    """Writes 0, 1, 2, 5 as "0-2,5"."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in found)
