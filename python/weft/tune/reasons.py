"""Why an algorithm was chosen, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.environment import variable
from weft.sizes import size_text
from weft.tune.table import default_file

# Partial sums of other ways are no subtrees of the one tree; see docs/algorithms.md.
_REPRODUCIBLE = (
    "reproducible: each rank adds up one block of all inputs, in rank order. That sends the fewest "
    "bytes a rank, though not the fewest between nodes, where sums of nodes would do"
)


@dataclass(frozen=True)
class Row:
    """The row of the tuning file that fits; number 0: none does."""

    asked: str  # the file that was asked for; empty: as the environment says
    file: str  # that is read; empty: none
    number: int
    entry: dict[str, Any]
    at: int | None  # bytes: the measured size that is nearest, as a ratio
    measured: dict[str, float]  # there, microseconds

    def place(self) -> str:
        """As messages call it."""
        return f"row {self.number} of {self.file}"


def reason(rule: str, row: Row) -> str:
    """The rule that decided, in a sentence."""
    if rule == "call":
        return "Why: the call names it, which goes before all else."
    if rule == "environment":
        return "Why: WEFT_ALGORITHM names it, which goes before all that was measured."
    if rule == "table":
        return f"Why: {row.place()}{_evidence(row)}"
    if row.at is not None:
        size = size_text(row.at)
        return (
            f"Why: it is built in; none was better by more than the noise when {size} bytes were "
            f"measured ({row.place()})."
        )
    if row.number:
        return f"Why: it is built in, and {row.place()} leaves it at that."
    return f"Why: it is built in. {_missing(row)}"


def _evidence(row: Row) -> str:
    if row.at is not None:
        size = size_text(row.at)
        return f". It was the quickest, by more than the noise, when {size} bytes were measured."
    if "predicted" in row.entry:
        return ", by the cost model: nothing was measured for this."
    return ", which has no times with it."


def _missing(row: Row) -> str:
    if row.file:
        return f"{row.file} has no row for this."
    asked = row.asked or variable("WEFT_TUNING")
    if asked == "none":
        return "No tuning file is asked for (none)."
    if (own := default_file()).exists():
        return f"{own} is of another machine: name it by WEFT_TUNING to use it all the same."
    return "There is no tuning file: `weft tune` measures this machine."


def is_native(choice: str) -> bool:
    """Whether the choice hands the call to the fabric."""
    return choice.partition("(")[0].endswith("/native")


def notes(
    strict: bool, chosen: str, measured: dict[str, float], predicted: dict[str, float]
) -> list[str]:
    """Hints for a newcomer. `strict`: in a reproducible communicator."""
    notes = []
    if strict and chosen.partition("(")[0] in (
        "allreduce/two_shot", "allreduce/direct", "reduce_scatter/direct",
    ):  # fmt: skip
        notes.append(_REPRODUCIBLE)
    if is_native(chosen):
        notes.append(
            f"{chosen} is the fabric's own function: it is neither proved nor priced, and runs "
            "only on mpi and shmem, for the collectives and types that MPI or OpenSHMEM has"
        )
    best = min(predicted, key=predicted.__getitem__, default=chosen)
    if not measured and chosen in predicted and predicted[best] < 0.97 * predicted[chosen]:
        notes.append(
            f"the cost model would take {best}: `weft tune --topology` writes such choices down"
        )
    if not predicted:
        notes.append("--topology NAME|FILE adds what the cost model predicts")
    if not measured:
        notes.append("nothing was measured for this; `weft tune` measures this machine")
    return notes
