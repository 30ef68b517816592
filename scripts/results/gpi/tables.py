"""The tables of the page."""

from __future__ import annotations

from gpi.cases import (
    ALLREDUCE,
    CUT,
    DOCUMENT,
    GPUS,
    GPUS_OF_NODE,
    NAMES,
    ONE_NODE,
    SECONDS,
    STRATEGIES,
    VARIANTS,
    VARIED,
    Row,
    node_counts,
)  # fmt: skip
from gpi.figures import (
    binding,
    bound,
    limits,
    nbytes_of,
    strategies_of,
    times_as_fast,
    times_in_a_node,
)  # fmt: skip
from page import table

GOAL = 3.4  # AlexNet, K80, four nodes
FOUR = 4


def every(rows: list[Row]) -> dict[str, str]:
    """All of them, by their places on the page."""
    return {
        "networks": _networks(rows),
        "goals": _goals(rows),
        "four": _four(rows),
        "limits": _limits(rows),
        "node": _node(rows),
        "variants": _variants(rows),
        **{network: _scaling(rows, network) for network in NAMES},
    }


def _networks(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        if row["turn"]["part"] != "layers":
            continue
        network, layers = row["turn"]["network"], row["layers"]
        products = sum(layer["products"] for layer in layers)
        largest = max(layers, key=lambda layer: layer["bytes"])
        buckets = {layer["bucket"] for layer in layers}
        lines.append([
            NAMES[network], f"{sum(layer['bytes'] for layer in layers) / 1e6:.2f}",
            f"{products / 1e9:.2f}", str(len(layers)), str(len(buckets)),
            f"{largest['bytes'] / 1e6:.1f} MB, {100 * largest['products'] / products:.0f}%",
        ])  # fmt: skip
    header = ["network", "parameters, MB", "products an image, 10⁹", "layers", "buckets",
              "largest layer, and its share of the time"]  # fmt: skip
    return table(header, lines)


def _goals(rows: list[Row]) -> str:
    lines = []
    for processor, goal in (("K80", f"at least {GOAL}"), ("P100", "beside its bound")):
        most = bound(rows, "alexnet", processor, FOUR)
        own = times_as_fast(rows, "alexnet", processor, FOUR, ALLREDUCE)
        cut = times_as_fast(rows, "alexnet", processor, FOUR, CUT)
        lines.append([processor, goal, _number(most), _number(own), _number(cut)])
    return table(["AlexNet on four nodes", "goal", "bound", ALLREDUCE, CUT], lines)


def _four(rows: list[Row]) -> str:
    processors = [processor for network, processor in SECONDS if network == "alexnet"]
    lines = [
        [
            strategy,
            *(_number(times_as_fast(rows, "alexnet", p, FOUR, strategy)) for p in processors),
        ]
        for strategy in STRATEGIES
    ]
    for name, trees in (("bound", False), ("bound of the trees", True)):
        lines.append([name, *(_number(bound(rows, "alexnet", p, FOUR, trees)) for p in processors)])
    lines.append(["document", *(str(DOCUMENT) if p == "K80" else "" for p in processors)])
    return table(["times as fast as one node", *processors], lines)


def _limits(rows: list[Row]) -> str:
    lines = []
    for processor in GPUS:
        for trees in (False, True):
            nbytes = nbytes_of(rows, "alexnet")
            busy = limits(nbytes, "alexnet", processor, FOUR, trees)
            lines.append([
                processor, "the document's trees" if trees else "fewest bytes",
                *(f"{1e3 * seconds:.1f}" for seconds in busy.values()), binding(busy),
            ])  # fmt: skip
    header = ["", "exchange", "computation, ms", "network, ms", "PCIe, ms", "longest"]
    return table(header, lines)


def _node(rows: list[Row]) -> str:
    lines = [
        [strategy, *(_number(times_in_a_node(rows, gpus, strategy)) for gpus in GPUS_OF_NODE)]
        for strategy in ONE_NODE
    ]
    return table(["GPUs (ideal)", *map(str, GPUS_OF_NODE)], lines)


def _variants(rows: list[Row]) -> str:
    lines = [
        [variant, *(_number(times_as_fast(rows, "alexnet", processor, FOUR, strategy, variant))
                    for processor in GPUS for strategy in VARIED)]
        for variant in VARIANTS
    ]  # fmt: skip
    header = [f"{processor}, {strategy}" for processor in GPUS for strategy in VARIED]
    return table(["assumption", *header], lines)


def _scaling(rows: list[Row], network: str) -> str:
    """Times as fast by number of nodes."""
    counts = node_counts(network)
    lines = []
    for processor in (own for name, own in SECONDS if name == network):
        head = f"{processor}, {SECONDS[network, processor]:g} s"
        for strategy in strategies_of(processor):
            found = (times_as_fast(rows, network, processor, n, strategy) for n in counts)
            lines.append([head, strategy, *map(_number, found)])
        most = (bound(rows, network, processor, n) for n in counts)
        lines.append([head, "**bound**", *(f"**{_number(one)}**" for one in most)])
    return table(["", "nodes (ideal)", *map(str, counts)], lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
