"""Simulates the steps: which cases there are, and one row for each."""

from __future__ import annotations

from dataclasses import dataclass

import weft
from scaling.cases import CLUSTER, MEMORY, NODE_CONFIGURATIONS, NODES, SCALINGS, Row, records
from scaling.program import EXCHANGES, Communication, programs
from scaling.sockets import slowdowns, socket, software
from weft.topology import Topology, load

# A rank waits for all gradients, which come from all ranks. So steps do not run into each other.
ITERATIONS = 1
PLANS = {"workers": ("allreduce", "alltoall"), "stealing": ("allreduce/ring", "alltoall/pairwise")}


@dataclass(frozen=True)
class Assumed:
    """What a case changes. The default is what the page assumes.

    Factors are of times: `cores` 2 means cores half as fast, `software` 0.25 copies and sums four
    times as fast. `plans` and `slowdown` name the backend from which they are; by default the
    case's own. `lanes`: exchanges overtake gradients in any case. `products`: how many times as
    long as in float32 the perceptrons' products take.
    """

    name: str = ""
    cores: float = 1.0
    memory: float = 1.0
    links: float = 1.0
    software: float = 1.0
    plans: str = ""
    lanes: bool = False
    alltoall: str = ""
    slowdown: str = ""
    products: float | None = None


VARIED = (
    Assumed("cores half as fast", cores=2.0),
    Assumed("cores twice as fast", cores=0.5),
    Assumed("memory half as fast", memory=2.0),
    Assumed("links half as fast", links=2.0),
    Assumed("four workers: copies and sums four times as fast", software=0.25),
    Assumed("no time for copies and sums", software=0.0),
    Assumed("exchanges by `alltoall/direct`", alltoall="alltoall/direct"),
    Assumed("a flat ring, workers do not steal", plans="stealing", lanes=True),
    Assumed("a flat ring in one line with exchanges, workers do not steal", plans="stealing"),
    Assumed("Weft's plans, workers steal", slowdown="stealing"),
)
# As on the document's Cooper Lake. Not every processor here has instructions for it.
FAST_BF16 = Assumed("products in bf16 twice as fast as in float32", products=0.5)


def cases() -> list[Row]:
    """All steps that are simulated."""
    found = [
        {"part": scaling, "topology": CLUSTER, "configuration": name, "dtype": "float32",
         "sockets": sockets, "backend": backend, "blocking": blocking, "assumed": ""}
        for name, one in SCALINGS.items()
        for scaling in ("strong", "weak")
        for backend in PLANS
        for blocking in ((False, True) if scaling == "strong" else (False,))
        for sockets in one.sockets
    ]  # fmt: skip
    found += [
        {"part": "strong", "topology": topology, "configuration": name, "dtype": dtype,
         "sockets": count, "backend": "workers", "blocking": blocking, "assumed": assumed}
        for topology, (sockets, dtypes) in NODES.items()
        for name in NODE_CONFIGURATIONS
        for dtype in dtypes
        for assumed in (("", FAST_BF16.name) if dtype == "bfloat16" else ("",))
        for blocking in (False, True)
        for count in sockets
    ]  # fmt: skip
    found += [
        {"part": "strong", "topology": CLUSTER, "configuration": name, "dtype": "float32",
         "sockets": sockets, "backend": "workers", "blocking": False, "assumed": varied.name}
        for varied in VARIED
        for name, one in SCALINGS.items()
        for sockets in (one.baseline, one.at)
    ]  # fmt: skip
    return found


def simulated(case: Row, rows: list[Row]) -> Row:
    """Seconds of a step, and those of exposed exchanges and gradients: the mean of the ranks.

    Raises:
        ValueError: operators are not measured yet.
    """
    assumed = next((one for one in (*VARIED, FAST_BF16) if one.name == case["assumed"]), Assumed())
    name, sockets = case["configuration"], case["sockets"]
    memory = MEMORY[case["topology"]] / assumed.memory
    machine = socket(rows, name, case["dtype"], memory, assumed.cores, assumed.products)
    backend = case["backend"]
    plans = assumed.plans or backend
    allreduce, alltoall = PLANS[plans]
    how = Communication(
        allreduce, assumed.alltoall or alltoall, lanes=assumed.lanes or plans == "workers",
        slowdown=slowdowns(rows)[assumed.slowdown or backend], blocking=case["blocking"],
    )  # fmt: skip
    count = records(name, case["part"], sockets)
    place = cluster(case["topology"], rows, assumed.software, assumed.links)
    step = weft.simulate_step(
        programs(machine, sockets, count, how), place, ranks=sockets, iterations=ITERATIONS,
        slowdown=how.slowdown, model="plain",
    )  # fmt: skip
    exchange = sum(step.waited.get(one, 0.0) for one in EXCHANGES)
    waited = sum(step.waited.values())
    return {**case, "records": count, "seconds": step.seconds, "exchange": exchange,
            "gradients": waited - exchange}  # fmt: skip


def cluster(name: str, rows: list[Row], software_factor: float, links_factor: float) -> Topology:
    """The topology, with what a worker's copies and sums take; the factors are of times."""
    place = load(name)
    if software_factor:
        rates = software(rows)
        place.copy, place.reduce = (rates[one] / software_factor for one in ("copy", "reduce"))
        place.step, place.call = rates["step"], rates["call"]
    links = list(place.links)
    for link in links:
        link.bandwidth /= links_factor
    place.links = links
    return place
