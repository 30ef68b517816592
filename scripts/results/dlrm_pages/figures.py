"""The arithmetic of dlrm.md: what is counted from the rows. None: not measured."""

from __future__ import annotations

from statistics import median

from dlrm_pages.cases import BARE, BLOCKING, GLOO, PLACES, RATES, Row

PARTS = ("compute", "allreduce", "alltoall")
THIRD = 1 / 3  # from this share of communication in Gloo's blocking step on, a node has a goal
SPEED, OF_BOUND, NARROW = 1.25, 0.95, 0.55  # the goals
RELATIVE = {"float32": 1e-5, "float64": 1e-10}
AUC_DISTANCE = 0.002


def of_turn(rows: list[Row], **what: object) -> list[Row]:
    """The rows whose turn says all of this."""
    return [
        row for row in rows if all(row["turn"].get(name) == value for name, value in what.items())
    ]


def like(turn: Row, **other: object) -> Row:
    """What selects the rows of all rounds of a turn of steps, with something else in it."""
    return {name: value for name, value in turn.items() if name != "round"} | other


def turns(rows: list[Row], **what: object) -> list[Row]:
    """Turns of steps that were measured, one for all rounds."""
    found: list[Row] = []
    for row in of_turn(rows, part="steps", **what):
        turn = like(row["turn"])
        if turn not in found:
            found.append(turn)
    return found


def block_ms(block: Row) -> float:
    """A step of the slowest rank."""
    return 1e3 * max(one["took"] for one in block["ranks"]) / block["steps"]


def blocks(rows: list[Row], turn: Row) -> list[Row]:
    """Those of the quickest round: what else the machine's owner runs only makes steps longer."""
    rounds = [row["blocks"] for row in of_turn(rows, **like(turn))]
    return min(rounds, key=lambda own: median(block_ms(one) for one in own), default=[])


def step_ms(rows: list[Row], turn: Row) -> float | None:
    """Of the slowest rank: the median of the blocks."""
    found = [block_ms(block) for block in blocks(rows, turn)]
    return median(found) if found else None


def split(block: Row) -> dict[str, float]:
    """Milliseconds of a step on the rank that waits least: others also wait for that rank.

    "compute", "allreduce" and "alltoall" add up to "step". "forward" is computation before any
    gradient; "beside forward" and "beside backward" are computed while an alltoall may travel.
    """

    def compute(watch: dict[str, float]) -> float:
        waits = ("allreduce", "alltoall forward", "alltoall backward")
        return watch["step"] - sum(watch.get(name, 0.0) for name in waits)

    watch = max((one["watch"] for one in block["ranks"]), key=compute)
    found = {
        "step": watch["step"],
        "compute": compute(watch),
        "allreduce": watch.get("allreduce", 0.0),
        "alltoall": watch.get("alltoall forward", 0.0) + watch.get("alltoall backward", 0.0),
        "forward": watch["forward"] - watch.get("alltoall forward", 0.0),
        "beside forward": watch.get("beside alltoall forward", 0.0),
        "beside backward": watch.get("beside alltoall backward", 0.0),
    }
    return {name: 1e3 * seconds / block["steps"] for name, seconds in found.items()}


def parts(rows: list[Row], turn: Row) -> dict[str, float] | None:
    """`split`, of each part the median over the blocks."""
    found = [split(block) for block in blocks(rows, turn)]
    return {name: median(one[name] for one in found) for name in found[0]} if found else None


def communication(rows: list[Row], turn: Row) -> float | None:
    """Milliseconds of the blocking step that are communication."""
    found = parts(rows, turn | {"steps": BLOCKING})
    return found["allreduce"] + found["alltoall"] if found else None


def share(rows: list[Row], turn: Row) -> float | None:
    """The part of Gloo's blocking step, like this one otherwise, that is communication."""
    base = turn | {"how": GLOO, "steps": BLOCKING}
    found, waits = parts(rows, base), communication(rows, base)
    return waits / found["step"] if found and waits is not None else None


def over_gloo(rows: list[Row], turn: Row) -> float | None:
    """The step rate over that of Gloo's like step."""
    mine, gloo = step_ms(rows, turn), step_ms(rows, turn | {"how": GLOO})
    return gloo / mine if mine and gloo else None


def of_bare(rows: list[Row], turn: Row) -> float | None:
    """The step rate over that of the same computation with the bytes over plain TCP."""
    mine, bare = step_ms(rows, turn), step_ms(rows, turn | {"how": BARE})
    return bare / mine if mine and bare else None


def narrower(rows: list[Row], turn: Row) -> float | None:
    """bf16's communication over float32's, in blocking steps."""
    half = communication(rows, turn | {"dtype": "bfloat16"})
    whole = communication(rows, turn | {"dtype": "float32"})
    return half / whole if half is not None and whole else None


def wire_bytes(rows: list[Row], turn: Row) -> float | None:
    """Of a step, sent by the busiest host, with the head of every frame.

    Two hosts: what one receives the other one has sent.
    """
    found = [
        max(one["wire"] for one in block["ranks"]) / block["steps"] for block in blocks(rows, turn)
    ]
    return median(found) if found else None


def alltoall_bytes(row: Row) -> tuple[float, float]:
    """Bytes of both exchanges of a step on a host's link: one in its busier direction, both in one.

    Embeddings go from a table's host to a record's host, and their gradients come back.
    """
    places, owned = PLACES[row["turn"]["place"]], row["owned"]
    one = both = 0.0
    for host in set(places):
        here = [owned[rank] for rank, place in enumerate(places) if place == host]
        records = row["minibatch"] * len(here) / len(places)
        out = sum(here) * (row["minibatch"] - records) * row["vector_bytes"]
        back = (sum(owned) - sum(here)) * records * row["vector_bytes"]
        one, both = max(one, out, back), max(both, out + back)
    return one, both


def bound_ms(rows: list[Row], turn: Row) -> float | None:
    """The shortest step that the computation and the bytes on the wire allow.

    Computation is that of the same library's blocking step.
    """
    found, alone = of_turn(rows, **like(turn)), parts(rows, turn | {"steps": BLOCKING})
    moved = wire_bytes(rows, turn)
    if not found or alone is None or moved is None or not turn["rate"]:
        return None
    one, both = alltoall_bytes(found[0])
    exchange, everything = (_wire_ms(nbytes, turn["rate"]) for nbytes in (one, moved))
    if turn["steps"] == BLOCKING:
        return alone["compute"] + everything
    sums = max(0.0, everything - _wire_ms(both, turn["rate"]))
    forward = max(0.0, exchange - alone["beside forward"])
    backward = max(0.0, exchange - alone["beside backward"])
    return max(alone["compute"] + forward + backward,
               alone["forward"] + forward + sums + exchange)  # fmt: skip


def _wire_ms(nbytes: float, rate: str) -> float:
    return 1e3 * nbytes * 8 / (float(RATES[rate].removesuffix("gbit")) * 1e9)


def of_bound(rows: list[Row], turn: Row) -> float | None:
    """The part of the bound's step rate that is reached."""
    bound, mine = bound_ms(rows, turn), step_ms(rows, turn)
    return bound / mine if bound and mine else None


def difference(row: Row) -> float:
    """Of the parameters after a training, relative to what one process has learned."""
    return row["difference"] / row["learned"]


def auc_distance(rows: list[Row], row: Row) -> float | None:
    """From the AUC of one process in float32."""
    alone = of_turn(rows, part="auc", place="1 x 1", dtype="float32")
    return row["auc"] - alone[0]["auc"] if alone else None


def collective_ms(rows: list[Row], **what: object) -> float | None:
    """The median of the rounds' medians."""
    found = [1e3 * row["seconds"] for row in of_turn(rows, part="collectives", **what)]
    return median(found) if found else None
