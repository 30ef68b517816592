"""What comes from outside is read or refused with a typed error: files, plans, the command line."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import weft
from weft import plan
from weft.cli import main
from weft.sizes import parse_size
from weft.tune.table import Table

INPUTS = 2000
LONGEST = 3.0  # seconds for one input
MOST_KIB = 1 << 20  # of memory that a parser may need more than before

TUNING = json.dumps(
    {
        "weft_tuning": 1,
        "machine": {"processor": "p", "cores": 2},
        "rows": [
            {
                "collective": "allreduce", "ranks": [2, None], "bytes": [0, 65536],
                "use": "multi_leader(node=2,chunk=64K)",
                "measured": [{"bytes": 8, "us": {"allreduce/ring": 1.5}}],
            }
        ],
    }
)  # fmt: skip
TOPOLOGY = """\
name: two
nodes: 2
rates: {copy: 10 GB/s, by_size: [{bytes: 1 KiB, copy: 8 GB/s, reduce: 9 GB/s}]}
node:
  ranks: [a, b]
  switches: {s: {latency: 1 us}}
  links:
    - {between: [a, s], latency: 2e-6, bandwidth: 100 Gbit/s, duplex: half, watts: [1, 2]}
    - {between: [b, s], latency: 0, bandwidth: 1 GB/s, memory: yes}
  attach: [s]
network:
  fat_tree:
    nodes_a_leaf: 2
    uplink: &wire {latency: 1 ms, bandwidth: 1 MB/s, shared: no}
    link: *wire
"""
TREE = """\
nodes: 3
node: {pcie_tree: {sockets: 2, plx: 1, gpus: 2, pcie: {latency: 1 us, bandwidth: 1 GB/s}}}
network:
  dragonfly:
    routers: 2
    nodes_a_router: 1
    link: {latency: 1 us, bandwidth: 1 GB/s}
    local: {latency: 1 us, bandwidth: 1 GB/s}
    between_groups: {latency: 1 us, bandwidth: 1 GB/s}
"""
NUMBERS = ("0", "1", "2", "7", "64", "65536", "2147483647", "999999999", "-1", "1e400", "9" * 5000)
GARBAGE = (
    *NUMBERS, *'[]{},:"&*\n\t -', "null", "true", "NaN", '"\\ud800"', "\xff", "\x00", "é", "- ",
    "? ", "!!python/object:os.system", "[" * 2000, "{a: " * 2000,
)  # fmt: skip


def bent(seeds, choose):
    """One of the texts with up to three mistakes in it, as bytes."""
    text = choose.choice(seeds)
    for _ in range(choose.randint(1, 3)):
        at = choose.randint(0, len(text))
        to = min(len(text), at + choose.randint(1, 12))
        kind = choose.randrange(6)
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + text[to:]
        elif kind == 2:
            text = text[:at] + choose.choice(GARBAGE) + text[at:]
        elif kind == 3:
            text = text[:at] + choose.choice(GARBAGE) + text[to:]
        elif kind == 4:
            other = choose.choice(seeds)
            text = text[:at] + other[choose.randint(0, len(other)) :]
        else:
            digits = [i for i, letter in enumerate(text) if letter.isdigit()] or [0]
            at = choose.choice(digits)
            text = text[:at] + choose.choice(NUMBERS) + text[at + 1 :]
    return text.encode("latin-1" if choose.random() < 0.1 else "utf-8", "replace")


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def read_or_refused(seeds, parse, inputs=INPUTS):
    """Feeds a parser with bent texts: each is read, or refused with an error of Weft, soon."""
    choose, before, outcomes = random.Random(16), peak(), []
    for _ in range(inputs):
        text = bent(seeds, choose)
        started = time.monotonic()
        try:
            parse(text)
            outcomes.append(True)
            said = ""
        except weft.WeftError as error:
            outcomes.append(False)
            said = str(error)
        except Exception as error:
            pytest.fail(f"{error!r} of {text[:2000]!r}")
        assert len(said) < 2000
        assert time.monotonic() - started < LONGEST, text[:2000]
        assert peak() - before < MOST_KIB, text[:2000]
    # Texts that are all refused at their first word would try nothing.
    assert min(sum(outcomes), inputs - sum(outcomes)) > inputs // 100


def test_bent_plans_as_json():
    names = ("allreduce/ring", "alltoall/pairwise", "broadcast/knomial", "barrier/dissemination")
    seeds = [plan.plan_to_json(plan.make_plan(name, 3), indent=1) for name in names]

    def parse(text):
        found = plan.plan_from_json(text)
        assert plan.plan_from_json(plan.plan_to_json(found)) == found
        plan.verify(found, max_trips=1)

    read_or_refused(seeds, parse)


def test_bent_topologies(tmp_path):
    file = tmp_path / "t.yaml"

    def parse(text):
        file.unlink(missing_ok=True)  # to write over a file waits for the disk
        file.write_bytes(text)
        weft.topology.load(file)

    read_or_refused([TOPOLOGY, TREE], parse, inputs=300)  # a parser in Python


def test_bent_tuning_files(tmp_path):
    file = tmp_path / "t.json"

    def parse(text):
        file.unlink(missing_ok=True)  # to write over a file waits for the disk
        file.write_bytes(text)
        Table.load(file)

    read_or_refused([TUNING], parse)


def test_bent_sizes():
    read_or_refused(
        ["8,4K", "25M", "1G", " 32MiB"],
        lambda text: parse_size(text.decode("utf-8", "surrogateescape")),
    )


SHORT = '{"format": "weft-plan", "version": 1, "algorithm": %s, "collective": "barrier", "ranks": 1'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deep"),
        ('{"format": ' + "[" * 900 + "]" * 900 + "}", "plan.format: expected a text, found a list"),
        (b"\xff\xfe{", "not JSON"),
        (SHORT % '"\\ud800"' + "}", "plan.algorithm: half a surrogate pair"),
        (SHORT % '"x"' + ', "params": {"\\udc00": 1}}', "plan.params: half a surrogate pair"),
        (SHORT % ("9" * 5000) + "}", "not JSON"),
    ],
)
def test_plans_that_are_no_plans(text, said):
    with pytest.raises(weft.InvalidPlan, match=said):
        plan.plan_from_json(text)


def test_endless_plans_are_refused_at_once():
    text = plan.plan_to_json(plan.make_plan("allreduce/ring", 4))
    endless = plan.plan_from_json(re.sub('"rounds": [0-9]+', '"rounds": 2147483647', text))
    started = time.monotonic()
    report = plan.verify(endless)
    assert time.monotonic() - started < 1
    assert "the plan is too large" in str(report)
    assert "at most 65536" in str(report)


@pytest.mark.parametrize("name", plan.algorithm_names())
def test_shipped_plans_are_far_below_the_limits(name):
    """What is priced for 4096 ranks has, here, a quarter of what is allowed or less."""
    algorithm = plan.find_algorithm(name)
    ranks = 2 if algorithm.collective == "sendrecv" else 256
    made = plan.make_plan(name, ranks)
    accesses = max(
        section.rounds * sum(1 + len(s.dst) + len(s.src) + len(s.peers) for s in section.steps)
        for program in made.programs[:: ranks - 1]
        for section in program
    )
    assert accesses <= 256 * ranks / 4
    assert max(made.shape.input_blocks, made.shape.output_blocks) <= 8 * ranks / 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[" * 100_000, "nested too deep"),
        (b"name: \xff", "is no YAML"),
        (b"nodes: " + b"9" * 5000 + b"\n" + TREE.encode()[9:], "line 1: nodes is '9"),
        (TREE.replace("nodes: 3", "nodes: 100000").encode(), "line 4.*more than 65536 ranks"),
        (TREE.replace("sockets: 2", "sockets: 90000").encode(), "line 2.*more than 65536 parts"),
        (TREE.replace("routers: 2", "routers: 90000").encode(), "line 4.*more than 1048576"),
        (b"#" * (5 << 20), "more than 4194304 bytes"),
        (TREE.encode() + b'name: "\\ud800"', "half a surrogate pair|no YAML"),
    ],
)
def test_topologies_that_are_none(tmp_path, text, said):
    file = tmp_path / "t.yaml"
    file.write_bytes(text)
    started = time.monotonic()
    with pytest.raises(weft.InvalidArgument, match=said) as refused:
        weft.topology.load(file)
    assert str(file) in str(refused.value)
    assert time.monotonic() - started < 10


def test_devices_are_not_read():
    with pytest.raises(weft.InvalidArgument, match="no regular file"):
        weft.topology.load("/dev/zero")


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "ring", "--ranks", "1-99999999999"),
        ("verify", "ring", "--ranks", "9" * 5000),
        ("verify", "ring", "--ranks", "2", "--param", "root=" + "9" * 50),
        ("price", "ring", "--topology", "rx1", "--bytes", "9" * 40),
        ("price", "ring", "--topology", "rx1", "--bytes", "9" * 5000),
        ("price", "ring", "--topology", "rx1", "--bytes", "8", "--nodes", "100000000"),
        ("price", "ring", "--topology", "rx1", "--bytes", "8", "--placement", "9" * 5000),
        ("show", "ring", "--ranks", "100000000"),
        ("explain", "allreduce", "8", "--ranks", "100000000"),
    ],
)
def test_numbers_on_the_command_line(arguments):
    started = time.monotonic()
    done = CliRunner().invoke(main, arguments)
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in (1, 2)
    assert len(done.output) < 3000
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (b"WEFT_FABRIC", b"\xff", "fabric"),
        (b"WEFT_TUNING", b"/tmp/\xff.json", "it cannot be read"),
        (b"WEFT_ALGORITHM", b"\xff(", "algorithm"),
        (b"WEFT_CHUNK", b"-1", "give a number of bytes"),
        (b"WEFT_CHUNK", b"99999999999999999999999", "give a number of bytes"),
        (b"WEFT_REPRODUCIBLE", b"\xff", "give 0 or 1"),
        (b"WEFT_WIRE", b"\xff", "give bfloat16"),
    ],
)
def test_variables(name, value, said):
    program = (
        "import numpy, weft\n"
        "try: weft.init(0, 1).allreduce(numpy.ones(3))\n"
        "except weft.InvalidArgument as error: print(ascii(str(error)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environb, name: value},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said in done.stdout, done.stderr
    assert "\\ufffd" in done.stdout or b"\xff" not in value
