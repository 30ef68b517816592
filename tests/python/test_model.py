"""The model of the machine: what ranks share of it, what is each one's own.

The files are made up. None of these tests depends on the processor that it runs on.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import weft
from weft import _core
from weft.cli import main
from weft.errors import InvalidArgument

from launch import Team, run

K = 1 << 10
SIZES = [1, 7, 333, 4096, 20_000, 70_001, 300_000]


def file_of(folder, name, **numbers):
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"weft_model": 1, "processor": "made up", **numbers}))
    path.chmod(0o600)
    return str(path)


def with_models(models):
    """Each rank its own WEFT_MODEL."""
    return Team(len(models), prefixes=[["env", f"WEFT_MODEL={model}"] for model in models])


def mixed_calls(job, seed):
    """Plans follow each other in any order, so that slots and places of all lie over each other."""
    random = np.random.default_rng(seed)
    with job.communicator(timeout=60) as comm:
        for step in range(120):
            count = int(random.choice(SIZES))
            root = int(random.integers(job.size))
            kind = random.choice(["allreduce", "broadcast", "allgather", "alltoall", "reduce"])
            mine = np.arange(count, dtype="f4") % 97 + comm.rank + step
            alike = np.arange(count, dtype="f4") % 97 + step
            total = job.size * alike + sum(range(job.size))
            if kind == "allreduce":
                assert (comm.allreduce(mine) == total).all()
            elif kind == "broadcast":
                assert (comm.broadcast(mine, root=root) == alike + root).all()
            elif kind == "allgather":
                rows = comm.allgather(mine).reshape(job.size, count)
                assert all((row == alike + peer).all() for peer, row in enumerate(rows))
            elif kind == "alltoall":
                rows = comm.alltoall(np.tile(mine, job.size)).reshape(job.size, count)
                assert all((row == alike + peer).all() for peer, row in enumerate(rows))
            elif comm.rank == root:
                assert (comm.reduce(mine, root=root) == total).all()
            else:
                comm.reduce(mine, root=root)
        return True


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_each_rank_turns_its_slots_as_its_own_model_says(tmp_path, ranks):
    reuse = [0, 100_000, 3 << 20, 1 << 40, 64]
    reuse_to = [1 << 40, 1 << 40, 64 << 10, 0, 1 << 40]
    models = [
        file_of(tmp_path, f"m{rank}", reuse=reuse[rank], reuse_to=reuse_to[rank])
        for rank in range(ranks)
    ]
    with with_models(models) as team:
        assert all(team.run(mixed_calls, 11))


def uneven_calls(job, turns):
    """Some ranks send more than they receive, and calls follow each other without a pause."""
    with job.communicator(timeout=60) as comm:
        ranks, me = job.size, comm.rank
        for turn in range(turns):
            count = (200, 3000, 16_384, 16_385)[turn % 4]
            to = [count if peer >= me else 1 for peer in range(ranks)]
            of = [count if me >= peer else 1 for peer in range(ranks)]
            sent = np.concatenate([np.full(n, 100 * me + turn, "i4") for n in to])
            got = comm.alltoall(sent, input_counts=to, output_counts=of)
            wanted = [np.full(n, 100 * peer + turn, "i4") for peer, n in enumerate(of)]
            assert (got == np.concatenate(wanted)).all()
            requests = [comm.allreduce(np.full(n, me + turn, "i4"), async_op=True)
                        for n in (count, 7, 3 * count)]  # fmt: skip
            total = sum(range(ranks)) + ranks * turn
            assert all((request.wait() == total).all() for request in requests)
        return True


@pytest.mark.parametrize("lends", [
    [1 << 40, 64 << 10], [1 << 40, 0], [0, 5000], [1 << 40, 64 << 10, 0],
    [1 << 40, 64 << 10, 5000, 0, 1 << 40],
])  # fmt: skip
@pytest.mark.parametrize("one_shot", [1000, 1 << 20])
@pytest.mark.parametrize("calls", [mixed_calls, uneven_calls])
def test_each_rank_lends_its_slots_as_its_own_model_says(tmp_path, lends, one_shot, calls):
    ranks = len(lends)
    spans = [256 << 10, 0, 20_000, 1 << 40, 256 << 10]
    models = [
        file_of(
            tmp_path,
            f"m{rank}",
            lend_to=lends[rank],
            lent_span=spans[rank],
            moved_chunk=64 << 10,
            one_shot=one_shot,
            one_shot_of_two=0,
        )
        for rank in range(ranks)
    ]
    with with_models(models) as team:
        assert all(team.run(calls, 60))


def exchanges(job, lengths):
    """Alltoalls of two ranks: what rank 0 keeps, what each sends the other, what rank 1 keeps."""
    with job.communicator(timeout=30) as comm:
        me, other = job.rank, 1 - job.rank
        for kept, there, back in lengths:
            crossing = (there, back)
            to = [0, 0]
            to[me], to[other] = kept[me], crossing[me]
            of = [0, 0]
            of[me], of[other] = kept[me], crossing[other]
            sent = np.concatenate([np.full(n, 10 * me + peer, "i4") for peer, n in enumerate(to)])
            counts = {} if len({*to, *of}) == 1 else {"input_counts": to, "output_counts": of}
            got = comm.alltoall(sent, **counts)
            wanted = [np.full(n, 10 * peer + me, "i4") for peer, n in enumerate(of)]
            assert (got == np.concatenate(wanted)).all()
        return True


def test_two_ranks_that_keep_blocks_of_other_lengths_exchange_alike(tmp_path):
    model = file_of(tmp_path, "m", long_exchange=64 << 10, moved_chunk=4 << 10, long_ahead=28 << 10)
    n = 8192  # elements that cross each way from which on an exchange is long
    lengths = [((n, n), n, n), ((n, 1), n, n), ((n - 1, n), n - 1, n - 1), ((n, n), n - 1, n - 1),
               ((0, n), n, n), ((n, n), n, n - 1), ((n, n), 0, n), ((5 * n, n), 3 * n, 3 * n),
               ((n, n), 0, 0)]  # fmt: skip
    with with_models([model, model]) as team:
        assert all(team.run(exchanges, lengths))


def symmetric_calls(job, sizes):
    with job.communicator(timeout=60) as comm:
        for step, count in enumerate(sizes * 2):
            mine, out = weft.empty(count, "f4"), weft.empty(count, "f4")
            mine[:] = np.arange(count) % 97 + comm.rank + step
            alike = np.arange(count, dtype="f4") % 97 + step
            total = job.size * alike + sum(range(job.size))
            comm.allreduce(mine, out=out, symmetric=True)
            assert (out == total).all()
            comm.reduce(mine, out=out if comm.rank == 1 else None, root=1, symmetric=True)
            assert comm.rank != 1 or (out == total).all()
            comm.broadcast(mine, out=mine, root=1, symmetric=True)
            assert (mine == alike + 1).all()
            blocks = np.stack([alike + rank for rank in range(job.size)])
            mine[:] = blocks[comm.rank]
            own, all_of = weft.empty((job.size, count), "f4"), weft.empty((job.size, count), "f4")
            comm.allgather(mine, out=all_of, symmetric=True)
            assert (all_of == blocks).all()
            own[:] = blocks + 100 * comm.rank
            comm.alltoall(own, out=all_of, symmetric=True)
            assert (all_of == [blocks[comm.rank] + 100 * rank for rank in range(job.size)]).all()
            comm.reduce_scatter(own, out=out, symmetric=True)
            assert (out == total + comm.rank * job.size + sum(range(job.size)) * 99).all()
        return True


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(
    "lengths",
    [
        {"symmetric_from": 0, "loaded_to": 0, "allreduce_in_place": 1},
        # A plan that works in a peer's buffers needs them, however short they are.
        {"symmetric_from": 1 << 30, "allreduce_in_place": 1},
        {"symmetric_from": 10_000, "loaded_to": 60_000, "reduce_in_place": 400_000,
         "broadcast_in_place": 300_000, "allreduce_in_place": 20_000, "symmetric_one_shot": 8000},
        {"broadcast_in_place": 8000, "long_broadcast": 60_000, "long_broadcast_chunk": 16_000},
        {"symmetric_from": 5000, "moved_from": 20_000, "moved_chunk": 4096,
         "loaded_chunk": 100_000},
    ],
)  # fmt: skip
def test_symmetric_memory_gives_the_same_wherever_it_is_used(tmp_path, ranks, lengths):
    model = file_of(tmp_path, "lengths", **lengths)
    assert all(run(symmetric_calls, ranks, [1, 2000, 2499, 2501, 14_999, 15_001, 120_000],
                   env={"WEFT_MODEL": model}))  # fmt: skip


def long_calls(job, count):
    with job.communicator(timeout=60) as comm:
        ours = [np.arange(count, dtype="f4") + rank for rank in range(job.size)]
        mine = ours[comm.rank]
        for _ in range(2):
            sent = mine.copy()
            comm.broadcast(sent, out=sent, root=job.size - 1)
            assert (sent == ours[-1]).all()
            assert (comm.allgather(mine).reshape(job.size, -1) == ours).all()
            parts = count // job.size
            exchanged = comm.alltoall(mine[: parts * job.size]).reshape(job.size, -1)
            block = slice(parts * comm.rank, parts * (comm.rank + 1))
            assert (exchanged == [one[block] for one in ours]).all()
            added = mine.copy()
            comm.allreduce(added, out=added)
            assert (added == sum(ours)).all()
        return True


@pytest.mark.parametrize("model", ["zen4", "zen5", "sapphire rapids", "intel"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_long_calls(ranks, model):
    """So long that some processors copy past their caches."""
    assert all(run(long_calls, ranks, (25 << 20) // 4 + 3, env={"WEFT_MODEL": model}))


def chosen_and_run(job, counts):
    with job.communicator(timeout=60) as comm:
        for count in counts:
            x = comm.allreduce(np.arange(count, dtype="f4") + comm.rank)
            assert (x == job.size * np.arange(count) + sum(range(job.size))).all()
        return [comm.algorithm_for("allreduce", count) for count in counts]


@pytest.mark.parametrize(
    ("chunk", "named"), [(24 * K, "(chunk=24K)"), (1, "(chunk=1)"), (1 << 40, "(chunk=1024G)")]
)
def test_the_chunk_of_two_ranks_is_rank_0s(tmp_path, chunk, named):
    first = file_of(tmp_path, "first", allreduce_chunk=chunk, allreduce_chunk_to=1 << 20)
    other = file_of(tmp_path, "other", allreduce_chunk=64 * K, allreduce_chunk_to=20 * K)
    with with_models([first, other]) as team:
        within, beyond = "allreduce/two_shot" + named, "allreduce/two_shot"
        for seen in team.run(chosen_and_run, [(1 << 20) // 4, (1 << 20) // 4 + 1]):
            assert [str(one) for one in seen] == [within, beyond]


@pytest.mark.parametrize(
    ("ranks", "seen"),
    [
        (2, ["one_shot(chunk=8K)", "one_shot(chunk=8K)", "two_shot(chunk=8K)"]),
        (3, ["one_shot", "two_shot", "two_shot"]),
    ],
)
def test_an_allreduce_of_two_ranks_has_a_limit_of_its_own(tmp_path, ranks, seen):
    lengths = {"one_shot": 16 * K, "one_shot_of_two": 32 * K}
    chunk = {"allreduce_chunk": 8 * K, "allreduce_chunk_to": 1 << 40}
    with with_models([file_of(tmp_path, "model", **lengths, **chunk)] * ranks) as team:
        for names in team.run(chosen_and_run, [4 * K, 8 * K, 8 * K + 1]):
            assert [str(name) for name in names] == ["allreduce/" + name for name in seen]


def chosen_in_symmetric_memory(job, counts):
    with job.communicator(timeout=60) as comm:
        return [comm.algorithm_for("allreduce", count, symmetric=True) for count in counts]


def test_that_limit_does_not_count_in_symmetric_memory(tmp_path):
    model = file_of(tmp_path, "model", one_shot_of_two=32 * K, symmetric_one_shot=4 * K,
                    allreduce_in_place=1 << 40)  # fmt: skip
    with with_models([model] * 2) as team:
        for names in team.run(chosen_in_symmetric_memory, [K, 8 * K]):
            assert [name.split("(")[0] for name in names] == [
                "allreduce/one_shot",
                "allreduce/two_shot",
            ]


def lengths_seen(job):
    with job.communicator(timeout=60) as comm:
        small = comm.algorithm_for("allreduce", 10 * K // 4)
        large = comm.algorithm_for("allreduce", 40 * K // 4)
        x = comm.allreduce(np.full(300_000, 1.0, "f4"))
        assert (x == job.size).all()
        return small, large


def test_lengths_are_rank_0s(tmp_path):
    """A chunk or an algorithm that ranks do not agree on would be a mismatch."""
    first = file_of(tmp_path, "first", one_shot=12 * K, smallest_chunk=8 * K, largest_chunk=8 * K)
    other = file_of(tmp_path, "other", one_shot=0, smallest_chunk=48 * K)
    with with_models([first, other, other]) as team:
        seen = team.run(lengths_seen)
    assert seen == [("allreduce/one_shot", "allreduce/two_shot")] * 3


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ("{", 0o600, "parse error"),
        ('{"weft_model": 1, "processor": "x"}', 0o666, "others may write it"),
        ('{"weft_model": 1, "processor": "x", "speed": 2}', 0o600, "there is no"),
        (None, 0, "give shipped, a file"),
    ],
)
def test_a_model_that_is_wrong_is_refused_on_every_rank(tmp_path, text, mode, says):
    model = "zen-nine"
    if text is not None:
        path = tmp_path / "wrong.json"
        path.write_text(text)
        path.chmod(mode)
        model = str(path)
    for said in run(refused, 2, env={"WEFT_MODEL": model}):
        assert says in said
        assert model in said


def refused(job):
    with pytest.raises(InvalidArgument) as error, job.communicator(timeout=60):
        pass
    return str(error.value)


def test_the_users_own_file_counts_on_its_processor_only(tmp_path):
    processor = _core.system_info()["model"]["processor"]
    (tmp_path / "weft").mkdir()
    path = tmp_path / "weft" / "model.json"
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "WEFT_MODEL": ""}
    for said, reads in ((processor, True), ("another", False)):
        path.write_text(json.dumps({"weft_model": 1, "processor": said, "one_shot": 1}))
        path.chmod(0o600)
        for one_shot in run(one_shot_here, 1, env=environment):
            assert (one_shot == 1) == reads
        for said in run(info_here, 1, env=environment):
            assert ("measured on another processor" in said) != reads
            assert (f"left out: {path}" in said) != reads


def one_shot_here(job):
    return _core.system_info()["model"]["one_shot"]


def info_here(job):
    """What `weft info` prints, in one line."""
    return CliRunner().invoke(main, ["info"], env={"COLUMNS": "1000"}).output


def lends_here(job):
    model = _core.system_info()["model"]
    return model["lend_to"], model["lent_span"]


@pytest.mark.parametrize(("lend_to", "lent"), [(5 * K, 5 * K), (1 << 30, 64 * K), (0, 0)])
def test_info_says_up_to_which_length_messages_find_a_lent_slot(tmp_path, lend_to, lent):
    model = file_of(tmp_path, "lends", lend_to=lend_to, lent_span=7)
    assert run(lends_here, 1, env={"WEFT_MODEL": model}) == [(lent, 7)]


def test_a_pinned_model_counts_before_the_users_own(tmp_path):
    (tmp_path / "weft").mkdir()
    own = tmp_path / "weft" / "model.json"
    processor = _core.system_info()["model"]["processor"]
    own.write_text(json.dumps({"weft_model": 1, "processor": processor, "one_shot": 1}))
    own.chmod(0o600)
    pinned = file_of(tmp_path, "pinned", one_shot=2)
    for model, wanted in ((pinned, 2), ("zen4", 16 * K), ("", 1)):
        environment = {"XDG_CONFIG_HOME": str(tmp_path), "WEFT_MODEL": model}
        assert run(one_shot_here, 1, env=environment) == [wanted]
    own.write_text(own.read_text().replace(processor, "another"))
    for model in (pinned, "zen4", "shipped"):
        environment = {"XDG_CONFIG_HOME": str(tmp_path), "WEFT_MODEL": model}
        assert "left out" not in run(info_here, 1, env=environment)[0]


def reuse_here(job):
    return _core.system_info()["model"]["reuse"]


def test_slots_never_span_more_than_a_ranks_share_of_the_third_cache(tmp_path):
    processor = _core.system_info()["model"]["processor"]
    found = re.search(r"L3 (\d+) KiB for (\d+)", processor)
    if not found or found[1] == "0":
        pytest.skip(f"the kernel does not say who shares the third cache: {processor}")
    share = (int(found[1]) << 10) // int(found[2])
    for reuse in (share - 1, share + 1):
        model = file_of(tmp_path, "reuse", reuse=reuse)
        assert run(reuse_here, 1, env={"WEFT_MODEL": model}) == [min(reuse, share)]
