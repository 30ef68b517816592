"""PyTorch's tests of NCCL on Weft, with all tensors on the CPU.

Most of torch's tests of DDP are written for one CUDA device a rank, though few need one. Here what
names such a device means the CPU, for the test and the parts of torch that it calls; torch's
decorators that ask for devices are passed over.
"""

import contextlib
import functools
import unittest
from unittest import mock

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.overrides import TorchFunctionMode
from torch.testing._internal import common_distributed


def whatever_there_is(*_, **__):
    """A decorator with arguments that asks for nothing."""
    return lambda test: test


ASKING = {
    "skip_if_lt_x_gpu": whatever_there_is,
    "nccl_skip_if_lt_x_gpu": whatever_there_is,
    "require_n_gpus_for_nccl_backend": whatever_there_is,
    "requires_nccl_version": whatever_there_is,
    "skip_if_no_gpu": lambda test: test,
}
with (
    mock.patch.multiple(common_distributed, **ASKING),
    mock.patch.object(dist, "is_nccl_available", return_value=True),
):
    import suite

# Where a test has code for each backend, Gloo's is the one for the CPU.
suite.Name.imitated = "gloo"


class OnCpu(TorchFunctionMode):
    """What is asked for on a CUDA device is made on the CPU, or stays there."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        """The call, with another device."""
        if function is torch.Tensor.cuda:
            return args[0]
        args, kwargs = moved(args, kwargs or {}, function is torch.Tensor.to)
        return function(*args, **kwargs)


def moved(args: tuple, kwargs: dict, all_args: bool) -> tuple[tuple, dict]:
    """The arguments with the CPU in the place of other devices."""
    if "device" in kwargs:
        kwargs = kwargs | {"device": cpu(kwargs["device"])}
    return (args[0], *map(cpu, args[1:])) if all_args else args, kwargs


def cpu(given):
    """The CPU where a CUDA device is meant; else what was given."""
    named = isinstance(given, (str, torch.device)) and str(given).startswith("cuda")
    return torch.device("cpu") if named or type(given) is int else given


def make_devices_mean_the_cpu(rank: int) -> None:
    """For what does not pass through a mode: modules, DDP, and the device a process is on."""
    for name in ("set_device", "manual_seed", "synchronize"):
        setattr(torch.cuda, name, lambda *_, **__: None)  # each its own, for torch.compile
    torch.cuda.device_count = lambda: 8
    torch.cuda.current_device = lambda: rank
    torch.cuda.device = lambda *_: contextlib.nullcontext()
    torch.nn.Module.cuda = lambda module, *_, **__: module
    to, init = torch.nn.Module.to, DistributedDataParallel.__init__

    @functools.wraps(to)
    def to_cpu(module, *args, **kwargs):
        args, kwargs = moved((module, *args), kwargs, True)
        return to(*args, **kwargs)

    @functools.wraps(init)
    def init_without_devices(self, module, device_ids=None, output_device=None, *args, **kwargs):
        init(self, module, None, None, *args, **kwargs)

    torch.nn.Module.to, DistributedDataParallel.__init__ = to_cpu, init_without_devices


class TestOnCpu(suite.TestWeft):
    """Each test on WORLD_SIZE fresh processes."""

    @classmethod
    def _run(cls, rank, *args, **kwargs):
        """A rank's whole life."""
        make_devices_mean_the_cpu(rank)
        with OnCpu():
            super()._run(rank, *args, **kwargs)

    test_ddp_uneven_inputs = unittest.skip("its convolutions are too many for a CPU")(
        suite.TestWeft.test_ddp_uneven_inputs
    )


CASES = [TestOnCpu]
