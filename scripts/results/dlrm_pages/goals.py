"""The goals of dlrm.md, and what came of them."""

from __future__ import annotations

from dlrm_pages import figures
from dlrm_pages.cases import BARE, BLOCKING, WEFT, Row
from dlrm_pages.cells import NOTHING

from page import table


def goals(rows: list[Row]) -> str:
    """One line for each goal: how many rows reach it, and the worst of them."""
    own = figures.turns(rows, how=WEFT, exchange="alltoall")
    crowded = [t for t in own if not t["rate"] and (figures.share(rows, t) or 0) >= figures.THIRD]
    hosts = [turn for turn in own if turn["rate"]]
    half = [t for t in own if t["dtype"] == "bfloat16" and t["steps"] == BLOCKING]
    over, bound, narrow = figures.over_gloo, figures.of_bound, figures.narrower
    bare = [turn | {"how": BARE} for turn in hosts]
    equal, auc = figures.of_turn(rows, part="equal"), figures.of_turn(rows, part="auc", how=WEFT)
    fractions = [figures.difference(one) / figures.RELATIVE[one["turn"]["dtype"]] for one in equal]
    away = [abs(d) for one in auc if (d := figures.auc_distance(rows, one)) is not None]
    lines = [
        ["in one node, where communication is a third of Gloo's blocking step: rate over Gloo's",
         *least([over(rows, turn) for turn in crowded], figures.SPEED)],
        ["on hosts: of the bound", *least([bound(rows, turn) for turn in hosts], figures.OF_BOUND)],
        ["the same of plain TCP", *least([bound(rows, turn) for turn in bare], figures.OF_BOUND)],
        ["on hosts: of plain TCP's rate",
         *least([figures.of_bare(rows, turn) for turn in hosts], figures.OF_BOUND)],
        ["on hosts: rate over Gloo's", *least([over(rows, turn) for turn in hosts], 1.0)],
        ["bf16's communication over float32's, blocking",
         *most([narrow(rows, turn) for turn in half], figures.NARROW)],
        ["difference from one process, over what is allowed", *most(fractions, 1.0)],
        ["AUC: distance from one process", *most(away, figures.AUC_DISTANCE)],
    ]  # fmt: skip
    return table(["", "goal", "rows that reach it", "worst"], lines)


def least(values: list[float | None], limit: float) -> list[str]:
    """The goal "at least", who reaches it, and the worst."""
    known = [value for value in values if value is not None]
    if not known:
        return [f"at least {limit:g}", NOTHING, NOTHING]
    reach = sum(value >= limit for value in known)
    return [f"at least {limit:g}", f"{reach} of {len(known)}", f"**{min(known):.3g}**"]


def most(values: list[float | None], limit: float) -> list[str]:
    """The goal "at most", who reaches it, and the worst."""
    known = [value for value in values if value is not None]
    if not known:
        return [f"at most {limit:g}", NOTHING, NOTHING]
    reach = sum(value <= limit for value in known)
    return [f"at most {limit:g}", f"{reach} of {len(known)}", f"**{max(known):.3g}**"]
