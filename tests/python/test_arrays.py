"""What is taken as an array, what is refused, and that nothing is ever corrupted."""

from __future__ import annotations

import array

import numpy as np
import pytest

import weft


@pytest.fixture(scope="module")
def alone():
    with weft.init(0, 1) as comm:
        yield comm


def plus_rank(comm, x, **options):
    return comm.allreduce(x, **options)


def in_place(job):
    with job.communicator(timeout=20) as comm:
        x = np.arange(10.0)
        assert comm.allreduce(x, out=x) is x
        np.testing.assert_array_equal(x, np.arange(10.0) * job.size)
        y = np.full(5, job.rank)
        comm.broadcast(y, root=1, out=y)
        np.testing.assert_array_equal(y, np.ones(5))


def non_contiguous(job):
    whole = np.arange(60, dtype="float32").reshape(5, 12)
    views = [
        whole[:, ::3],
        whole.T,
        whole[::-1],
        whole[1:4, 2:7],
        np.broadcast_to(whole[0], (3, 12)),
    ]
    with job.communicator(timeout=20) as comm:
        for view in views:
            np.testing.assert_array_equal(comm.allreduce(view), view * job.size)
        np.testing.assert_array_equal(whole, np.arange(60).reshape(5, 12))  # untouched


def refused_output(job):
    memory = np.zeros((4, 6))
    with job.communicator(timeout=20) as comm:
        for out, why in [
            (memory[:, ::2], "not contiguous"),
            (memory.T, "not contiguous"),
            (np.broadcast_to(memory[0], (2, 6)), "read-only"),
            (np.zeros(12, "float32"), "out is float32 but x is float64"),
            (np.zeros(11), "out has 11 elements but this call needs 12"),
        ]:
            with pytest.raises(weft.InvalidArgument, match=rf"rank {job.rank}: allreduce.*{why}"):
                comm.allreduce(np.ones(12), out=out)
        assert not memory.any()
        np.testing.assert_array_equal(comm.allreduce(np.ones(2)), [job.size] * 2)  # still usable


def symmetric(job):
    x = weft.empty((3, 5), "int16")
    assert not x.any()
    assert x.shape == (3, 5)
    assert x.ctypes.data % 4096 == 0
    x += job.rank + 1
    with job.communicator(timeout=20) as comm:
        out = weft.empty((3, 5), "int16")
        comm.allreduce(x, out=out)
        np.testing.assert_array_equal(out, np.full((3, 5), job.size * (job.size + 1) // 2))
        view = out[1:]
        del out  # the view keeps the memory
        comm.allreduce(view, out=view)
    assert weft.empty(0).size == 0


@pytest.mark.parametrize(
    ("shape", "dtype", "kind", "why"),
    [
        (-1, "float32", weft.InvalidArgument, "negative extent"),
        ((2, -3), "float32", weft.InvalidArgument, "negative extent"),
        (3, object, weft.InvalidArgument, "Python objects"),
        (2.5, "float32", TypeError, "integer"),
        (1 << 50, "uint8", weft.WeftError, "bytes"),
    ],
)
def test_refused_symmetric_memory(shape, dtype, kind, why):
    with pytest.raises(kind, match=why):
        weft.empty(shape, dtype)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("body", [in_place, non_contiguous, refused_output, symmetric])
def test_numpy(team, body, ranks):
    team(ranks).run(body)


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (np.float32(3.0), np.float32(3.0)),
        (np.zeros((0, 4)), np.zeros((0, 4))),
        (bytearray(b"abc"), np.frombuffer(b"abc", "uint8")),
        (b"abc", np.frombuffer(b"abc", "uint8")),
        (array.array("d", [1.5, 2.5]), np.array([1.5, 2.5])),
        (memoryview(array.array("i", range(6)))[::2], np.array([0, 2, 4], "int32")),
    ],
)
def test_buffers(alone, x, wanted):
    got = alone.allreduce(x, "max")
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("x", "why"),
    [
        ([1.0, 2.0], "x is a list"),
        (3.0, "x is a float"),
        (None, "x is a NoneType"),
        (np.array(["a"]), "cannot be used"),
        (np.array([object()]), "cannot be used"),
        (np.arange(3, dtype=">i4"), "cannot be used"),
        (np.zeros(2, "datetime64[s]"), "cannot be used"),
        (np.zeros(2, "longdouble"), "cannot be used"),
    ],
)
def test_refused_input(alone, x, why):
    with pytest.raises(weft.InvalidArgument, match=rf"rank 0: .*{why}"):
        alone.allreduce(x)


@pytest.mark.parametrize(
    ("call", "kind", "why"),
    [
        (lambda c, x: c.allreduce(x, "mean"), weft.InvalidArgument, '"mean" is not a reduction'),
        (
            lambda c, x: c.allreduce(x, "bit_or"),
            weft.Unsupported,
            "bit_or is not defined on float64",
        ),
        (lambda c, x: c.allreduce(x, algorithm="no"), weft.InvalidArgument, "no"),
        (lambda c, x: c.allreduce(x, timeout=-1), weft.InvalidArgument, "timeout"),
        (lambda c, x: c.broadcast(x, root=1), weft.InvalidArgument, "root"),
        (lambda c, x: c.alltoall(x[:2], out=x[1:3]), weft.InvalidArgument, "overlap"),
        (lambda c, x: c.alltoall(x, input_counts=[4]), weft.InvalidArgument, "or neither"),
        (lambda c, x: c.reduce_scatter(x, input_counts=[2, 2]), weft.InvalidArgument, "2 entries"),
        (lambda c, x: c.allgather(x, output_counts=[5]), weft.InvalidArgument, "4"),
        (lambda c, x: c.allreduce(x[:-1], out=x[1:]), weft.InvalidArgument, "overlap"),
        (lambda c, x: c.send(x, 3), weft.InvalidArgument, "ranks are 0 to 0"),
    ],
)
def test_refused_call(alone, call, kind, why):
    x = np.arange(4.0)
    with pytest.raises(kind, match=why):
        call(alone, x)
    np.testing.assert_array_equal(x, np.arange(4.0))
    np.testing.assert_array_equal(alone.allreduce(x), x)  # still usable


def test_shares_that_do_not_divide(team):
    team(2).run(indivisible)


def indivisible(job):
    with job.communicator(timeout=20) as comm:
        for name in ("reduce_scatter", "alltoall"):
            with pytest.raises(
                weft.InvalidArgument, match="5 elements, which 2 ranks cannot share"
            ):
                getattr(comm, name)(np.ones(5))


def tensors(job):
    import torch

    with job.communicator(timeout=20) as comm:
        for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
            x = torch.ones(6, dtype=dtype)
            op = "bit_or" if dtype == torch.bool else "sum"
            got = comm.allreduce(x, op)
            assert isinstance(got, torch.Tensor)
            assert got.dtype == dtype
            assert got.tolist() == ([True] * 6 if dtype == torch.bool else [job.size] * 6)
        x = torch.arange(12.0).reshape(3, 4)
        assert torch.equal(comm.allreduce(x.T), x.T * job.size)
        assert comm.allreduce(x, out=x) is x
        with pytest.raises(weft.InvalidArgument, match="not contiguous"):
            comm.allreduce(torch.ones(12), out=x.T)
        assert comm.allreduce(torch.ones(2, requires_grad=True)).tolist() == [job.size] * 2
        moved = torch.tensor([0.5, 2.0]).to(torch.float8_e5m2)
        assert torch.equal(comm.broadcast(moved).float(), moved.float())


def test_torch_tensors(team):
    pytest.importorskip("torch", reason="torch is not installed")
    team(2).run(tensors)


def extension_types(job):
    import ml_dtypes

    with job.communicator(timeout=20) as comm:
        x = np.arange(8).astype(ml_dtypes.bfloat16)
        got = comm.allreduce(x)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got.astype(float), np.arange(8.0) * job.size)
        bytes8 = np.array([1.5, -2.0], ml_dtypes.float8_e4m3fn)
        np.testing.assert_array_equal(comm.allgather(bytes8)[1], bytes8)
        with pytest.raises(weft.Unsupported, match="sum is not defined on float8_e4m3fn"):
            comm.allreduce(bytes8)


def test_ml_dtypes(team):
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    team(2).run(extension_types)
