"""What is simulated: the document's networks, processors and platform, and our strategies."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

# Table 1 of the document: seconds of an iteration on one node. GPUs copy over PCIe.
SECONDS = {
    ("alexnet", "CPU"): 2.0, ("alexnet", "K80"): 0.9,
    ("alexnet", "P100"): 0.1, ("alexnet", "KNL"): 0.6,
    ("googlenet", "CPU"): 1.3, ("googlenet", "K80"): 0.36,
    ("googlenet", "P100"): 0.08, ("googlenet", "KNL"): 0.32,
    ("inception_v3", "P100"): 0.33,
}  # fmt: skip
NAMES = {"alexnet": "AlexNet", "googlenet": "GoogLeNet", "inception_v3": "Inception v3"}
BATCH = {"alexnet": 256, "googlenet": 32, "inception_v3": 32}  # of all nodes together
GPUS = ("K80", "P100")
NODES = (1, 2, 4, 8, 16, 32, 64)
DOCUMENT = 2.4  # times as fast: AlexNet, K80, four nodes (Fig. 6)

TOPOLOGY = "taurus"
WIRE = 6.8e9  # bytes a second in each direction; as in the topology
PCIE = 12e9  # an assumption, PCIe 3 x16: bytes a second in each direction
FORWARD = 1 / 3  # an assumption: the share of a layer's time; backward makes two products of one
LANES = 8  # of GradientSync

PHASES, TREE, PIPED = "phases", "tree, whole layers", "tree, 1 MiB"
ALLREDUCE, CUT, SHARDED = "allreduce", "allreduce in pieces", "sharded"
STRATEGIES = (PHASES, TREE, PIPED, ALLREDUCE, CUT, SHARDED)
CHUNK = 1 << 20  # bytes of a chunk of PIPED
PIECE = 8 << 20  # bytes of a copy and of an allreduce of CUT
# Weft sends to all nodes at once. For SimGrid these are too many flows, so from here on
# `allreduce/rabenseifner` is simulated, and "sharded" is not.
MANY, FOR_MANY = 16, "allreduce/rabenseifner(chunk=512K)"

# Other assumptions, for AlexNet on four nodes: what differs from the above.
VARIANTS: dict[str, Row] = {
    "as above": {},
    "sums and copies of the host take no time": {"host": 0.0},
    "sums and copies of the host take twice as long": {"host": 2.0},
    "PCIe of 6 GB/s": {"pcie": 6e9},
    "copies up in the order in which layers are computed": {"engines": 1},
    "`allreduce/rabenseifner`": {"allreduce": FOR_MANY},
    "SimGrid's model of MPI": {"model": "smpi"},
    "forward takes half of the time": {"forward": 0.5},
    "layers take time by their bytes, not by their products": {"time": "bytes"},
}
VARIED = (TREE, ALLREDUCE)

# The document's Fig. 5: one node. The same trees twice, and what stock Caffe does.
STOCK, AT_ONCE, SPREAD = "stock Caffe", "trees, all at once", "trees, layer by layer"
ONE_NODE = (STOCK, AT_ONCE, SPREAD)
GPUS_OF_NODE = (1, 2, 4)


def node_counts(network: str) -> list[int]:
    """Up to one image a node."""
    return [nodes for nodes in NODES if nodes <= BATCH[network]]


def layer_turns() -> list[Row]:
    """One for each network: its layers are counted."""
    return [{"part": "layers", "network": network} for network in NAMES]


def step_turns() -> list[Row]:
    """One for each network, processor, number of nodes above 1 and strategy."""
    return [
        {"part": "step", "network": network, "processor": processor, "nodes": nodes,
         "strategy": strategy}
        for network, processor in SECONDS
        for nodes in node_counts(network)[1:]
        for strategy in STRATEGIES
        if strategy != SHARDED or nodes < MANY
        if strategy != CUT or processor in GPUS
    ]  # fmt: skip


def variant_turns() -> list[Row]:
    """AlexNet on four nodes, with other assumptions."""
    return [
        {"part": "variant", "network": "alexnet", "processor": processor, "nodes": 4,
         "strategy": strategy, "variant": variant}
        for variant in VARIANTS
        for processor in GPUS
        for strategy in VARIED
    ]  # fmt: skip


def one_node_turns() -> list[Row]:
    """AlexNet on two and four GPUs of a node."""
    return [
        {"part": "one node", "network": "alexnet", "processor": "K80", "gpus": gpus,
         "strategy": strategy}
        for gpus in GPUS_OF_NODE[1:]
        for strategy in ONE_NODE
    ]  # fmt: skip
