"""Topologies: what is shipped and generated, which way messages go, and lines of errors."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from click.testing import CliRunner

import weft
from weft.cli import main
from weft.topology import Switch, Wire, dragonfly, fat_tree, flat, load, pcie_tree, shipped, text_of

WIRE = Wire(latency=1e-6, bandwidth=10e9)


def way(topology, source, destination):
    """The names of the vertices that a message passes."""
    names = [vertex.name for vertex in topology.vertices]
    links = topology.links
    (path,) = topology.paths([(source, destination)])
    ends = [(links[link].a, links[link].b)[forward] for link, forward in path]
    return [names[vertex] for vertex in ends]


@pytest.mark.parametrize(
    ("name", "ranks", "nodes"),
    [
        ("rx1", 64, 8),
        ("rx2", 16, 16),
        ("rx3", 16, 8),
        ("taurus", 64, 64),
        ("tsubame3", 2160, 540),
        ("nvcluster", 512, 64),
        ("dragonfly", 256, 64),
        ("opa64", 64, 32),
        ("skx8", 8, 1),
        ("cpx4", 4, 1),
    ],
)
def test_shipped(name, ranks, nodes):
    assert name in shipped()
    topology = load(name)
    vertices = topology.vertices
    assert topology.name == name
    assert len(topology.ranks) == ranks
    assert [vertices[vertex].node for vertex in topology.ranks] == [
        rank // (ranks // nodes) for rank in range(ranks)
    ]


def test_ways_in_tsubame3():
    t = load("tsubame3", nodes=64)
    assert way(t, 0, 3) == ["node0.gpu3"]
    # Between the nodes of a leaf pair from one PLX to the same one of the other node, by NVLink;
    # farther away through the root.
    assert way(t, 0, 4) == ["node0.plx0", "leaf0.0", "node1.plx0", "node1.gpu0"]
    assert way(t, 3, 4) == [
        "node0.gpu0", "node0.plx0", "leaf0.0", "node1.plx0", "node1.gpu0"
    ]  # fmt: skip
    assert way(t, 4, 3) == [
        "node1.plx0", "leaf0.0", "node0.plx0", "node0.gpu0", "node0.gpu3"
    ]  # fmt: skip
    assert way(t, 35, 36) == [
        "node8.plx1", "leaf0.1", "root0", "leaf1.0", "node9.plx0", "node9.gpu0"
    ]  # fmt: skip
    assert t.latencies(0)[4] == pytest.approx(452e-9)  # two PCIe, two cables, the leaf twice


def test_ways_in_rx1():
    t = load("rx1")
    assert way(t, 0, 1) == ["node0.plx0", "node0.gpu1"]
    assert way(t, 1, 2)[1] == "node0.socket0"
    assert way(t, 3, 4)[1:3] == ["node0.socket0", "node0.socket1"]
    assert "switch" in way(t, 0, 8)
    assert [t.vertices[vertex].socket for vertex in t.ranks[:8]] == [0] * 4 + [1] * 4


def test_ways_in_opa64():
    t = load("opa64")
    assert way(t, 0, 1) == ["node0.socket1"]
    assert way(t, 1, 30) == ["leaf0.0", "node15.socket0"]
    # Through the root by the uplink that the destination chooses.
    ways = [way(t, 0, rank) for rank in range(32, 64)]
    assert {(up, down) for up, _, down, _ in ways} == {("leaf0.0", "leaf1.0")}
    assert Counter(root for _, root, _, _ in ways) == {f"root{n}": 2 for n in range(16)}
    names = [vertex.name for vertex in t.vertices]
    cables = [sorted((names[link.a], names[link.b])) for link in t.links]
    assert sum("leaf0.0" in ends for ends in cables) == 32 + 16
    assert [t.vertices[vertex].socket for vertex in t.ranks] == [0, 1] * 32


@pytest.mark.parametrize(("name", "links", "farthest"), [("skx8", 3, 2), ("cpx4", 3, 1)])
def test_sockets_of_a_node(name, links, farthest):
    t = load(name)
    ranks = range(len(t.ranks))
    for rank in ranks:
        assert sum(rank in (link.a, link.b) for link in t.links) == links
    assert max(len(way(t, a, b)) for a in ranks for b in ranks if a != b) == farthest


def test_generators():
    t = flat(5, WIRE)
    assert (len(t.ranks), len(t.links)) == (5, 5)
    assert way(t, 4, 0) == ["switch", "node0.rank"]
    t = flat(2, WIRE, node=pcie_tree(sockets=1, plx=1, gpus=3, pcie=WIRE))
    assert len(t.ranks) == 6
    t = fat_tree(6, WIRE, nodes_a_leaf=2, uplink=WIRE, roots=2, root=Switch(bandwidth=1e9))
    assert len(t.links) == 6 + 3 * 2
    assert way(t, 0, 1) == ["leaf0.0", "node1.rank"]
    assert way(t, 0, 2)[1] == "root0"  # the destination chooses
    assert way(t, 0, 3)[1] == "root1"
    t = dragonfly(12, WIRE, routers=2, nodes_a_router=2, local=WIRE, between_groups=WIRE)
    assert len(t.links) == 12 + 3 + 3  # nodes, one link in each group, one for each two groups
    routes = [way(t, 0, rank) for rank in range(1, 12)]
    assert max(len(route) for route in routes) == 5  # two routers here, two there
    assert min(len(route) for route in routes) == 2


def test_places_of_a_node_at_one_leaf():
    t = load("nvcluster")
    assert way(t, 0, 2) == ["node0.gpu2"]
    assert way(t, 0, 8 * 5) == ["node0.plx0", "leaf0.0", "node5.plx0", "node5.gpu0"]
    assert way(t, 2, 8 * 6 + 6) == [
        "node0.plx1", "leaf0.0", "root0", "leaf1.0", "node6.plx3", "node6.gpu6"
    ]  # fmt: skip
    node = pcie_tree(sockets=1, plx=4, gpus=1, pcie=WIRE, hcas=4)
    two = fat_tree(4, WIRE, nodes_a_leaf=2, uplink=WIRE, rails=2, node=node)
    names = [vertex.name for vertex in two.vertices]
    assert [name for name in names if "leaf" in name] == [
        "leaf0.0",
        "leaf0.1",
        "leaf1.0",
        "leaf1.1",
    ]


def test_global_links_of_a_router():
    t = load("dragonfly")
    names = [vertex.name for vertex in t.vertices]
    number = {f"router{i // 4}.{i % 4}": i for i in range(64)}
    links = [(names[link.a], names[link.b]) for link in t.links]
    between = {(number[a], number[b]) for a, b in links if a in number and b in number}
    # As the authors' list of links begins and ends.
    from_the_first = {1, 2, 3, 4, 11, 20, 27, 36, 52}
    to_the_last = {14, 30, 43, 46, 59, 60, 61, 62}
    assert {b for a, b in between if a == 0} == from_the_first
    assert {a for a, b in between if b == 63} == to_the_last
    assert len(between) == 16 * 6 + 180
    with pytest.raises(weft.errors.InvalidArgument, match="give at least 2"):
        dragonfly(12, WIRE, routers=1, nodes_a_router=4, local=WIRE, between_groups=WIRE,
                  global_links=1)  # fmt: skip


GOOD = """\
name: two
nodes: 2
rates: {copy: 10 GB/s, reduce: 5e9, step: 50 ns, call: 9 ns}
node:
  ranks: [a, b]
  switches: {s: {latency: 1 us}}
  links:
    - {between: [a, s], latency: 2e-6, bandwidth: 100 Gbit/s, duplex: half, watts: [1, 2]}
    - {between: [b, s], latency: 0, bandwidth: 1 GB/s, memory: yes}
  attach: [s]
network:
  flat:
    link: {latency: 1 ms, bandwidth: 1 MB/s, overhead: 3 us, shared: no}
"""


BY_SIZE = (
    "by_size: [{bytes: 1 KiB, copy: 8 GB/s, reduce: 9 GB/s}, "
    "{bytes: 1 MiB, copy: 4 GB/s, reduce: 5 GB/s, fetch: 3 GB/s, store: 1 GB/s}]"
)


def test_file(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(GOOD)
    t = load(file)
    first, second = t.links[:2]
    assert (t.copy, t.reduce, t.step, t.call) == pytest.approx((10e9, 5e9, 50e-9, 9e-9))
    assert (first.latency, first.bandwidth) == pytest.approx((2e-6, 12.5e9))
    assert (first.full_duplex, first.memory, first.idle_watts, first.busy_watts) == (
        False, False, 1.0, 2.0
    )  # fmt: skip
    assert (second.full_duplex, second.memory) == (True, True)
    assert (t.links[-1].overhead, t.links[-1].shared) == (pytest.approx(3e-6), False)
    assert t.latencies(0)[2] == pytest.approx(4e-6 + 2e-6 + 2e-3)
    assert len(load(file, nodes=7).ranks) == 14
    file.write_text(GOOD.replace("call: 9 ns", BY_SIZE, 1))
    small, large = load(file).by_size
    assert (small.bytes, small.copy, small.reduce, small.fetch) == (1024, 8e9, 9e9, 0)
    assert (large.bytes, large.fetch, large.store) == (2**20, 3e9, 1e9)


# What replaces what in the file above, the line of the error, and words of it.
WRONG = {
    "typo": ("bandwidth: 1 GB/s", "bandwith: 1 GB/s", 9, "did you mean bandwidth?"),
    "negative": ("bandwidth: 1 GB/s", "bandwidth: -1 GB/s", 9, "has to be positive"),
    "no unit of this": ("100 Gbit/s", "100 Gbits", 8, "one of B/s"),
    "no bandwidth": ("bandwidth: 1 MB/s, ", "", 13, "lacks bandwidth"),
    "unknown end": ("[b, s]", "[b, t]", 9, "t is neither a rank nor a switch"),
    "no way": ("[b, s]", "[a, s]", 5, "no way leads from rank 0 to node0.b"),
    "no attachment": ("  attach: [s]\n", "", 11, "attach"),
    "no such network": ("flat:", "flt:", 12, "did you mean flat?"),
    "duplex": ("duplex: half", "duplex: both", 8, "one of full, half"),
    "watts": ("[1, 2]", "[1]", 8, "[idle, busy]"),
    "nodes": ("nodes: 2", "nodes: 0", 2, "at least 1"),
    "how many": ("nodes: 2\n", "", 11, "say how many"),
    "twice": ("ranks: [a, b]", "ranks: [a, a]", 5, "there twice"),
    "key twice": ("nodes: 2", "name: again", 2, "there twice"),
    "sizes": ("call: 9 ns", BY_SIZE.replace("1 MiB", "1 B"), 3, "few bytes to many"),
    "no YAML": ("nodes: 2", "nodes: [2", 3, ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_the_line(case, tmp_path):
    old, new, line, words = WRONG[case]
    file = tmp_path / "wrong.yaml"
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(weft.InvalidArgument) as raised:
        load(file)
    assert f"{file}, line {line}:" in str(raised.value)
    assert words in str(raised.value)


def test_unknown_name_lists_what_there_is():
    with pytest.raises(weft.InvalidArgument, match="rx1, rx2, rx3, skx8, taurus, tsubame3"):
        load("tsubame4")


def test_command(tmp_path):
    result = CliRunner().invoke(main, ["topology", "rx1", "--nodes", "3", "--json"])
    known = json.loads(result.output)
    assert (known["ranks"], known["nodes"]) == (24, 3)
    assert sum(link["count"] for link in known["links"]) == 3 * (8 + 4 + 1 + 2 + 2)
    assert sum(way["ranks"] for way in known["ways"]) == 23
    assert "6.8 GB/s" in CliRunner().invoke(main, ["topology", "rx1"]).output
    refused = CliRunner().invoke(main, ["topology", str(tmp_path / "none.yaml")])
    assert refused.exit_code == 1
    assert "neither a file nor" in refused.output


@pytest.mark.parametrize("text", [GOOD, GOOD.replace("step", BY_SIZE + ", step"), "rx3"])
def test_written_and_read_again(tmp_path, text):
    file = tmp_path / "first.yaml"
    file.write_text(text)
    first = load(text) if text in shipped() else load(file)
    (tmp_path / "again.yaml").write_text(text_of(first, notes=["a note"]))
    again = load(tmp_path / "again.yaml")
    for word in ("name", "one_port", "copy", "reduce", "step", "call"):
        assert getattr(again, word) == getattr(first, word)
    assert sorted(map(told(first), first.links)) == sorted(map(told(again), again.links))
    for old, new in zip(first.by_size, again.by_size, strict=True):
        assert (old.bytes, old.copy, old.fetch) == (new.bytes, new.copy, new.fetch)
    places = [
        [
            (t.vertices[rank].name, t.vertices[rank].node, t.vertices[rank].socket)
            for rank in t.ranks
        ]
        for t in (first, again)
    ]
    assert places[0] == places[1]


def told(topology):
    """A link by the names that it joins, and all that is said of it."""
    names = [vertex.name for vertex in topology.vertices]
    return lambda link: (
        names[link.a], names[link.b], link.latency, link.bandwidth, link.overhead,
        link.full_duplex, link.shared, link.memory, link.idle_watts, link.busy_watts,
    )  # fmt: skip
