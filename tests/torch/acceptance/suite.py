"""PyTorch's own tests of a distributed backend, with Weft in the place of Gloo or MPI.

torch decides while it defines the tests which of them a backend gets, by the environment variable
BACKEND; while they run, the same name says what to start. So the module is imported under the
name whose set is wanted, and then told that the backend is "weft".
"""

import os
from unittest import mock

import torch.distributed as dist

# Without it torch leaves tests out; each test gets a file of its own in setUp.
os.environ["INIT_METHOD"] = "file://"

from torch.testing._internal.distributed import distributed_test


class Name(str):
    """A backend's name, which where code chooses by it passes for another one too."""

    imitated = os.environ["BACKEND"]

    def __eq__(self, other: object) -> bool:
        """Whether it is this name or the imitated one."""
        return other == self.imitated or str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        """Whether it is neither."""
        return not self == other

    __hash__ = str.__hash__


distributed_test.BACKEND = Name(os.environ["WEFT_ACCEPTANCE_BACKEND"])


class TestWeft(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    """Each test on WORLD_SIZE fresh processes."""

    def setUp(self) -> None:
        """Starts them."""
        super().setUp()
        distributed_test.INIT_METHOD = os.environ["INIT_METHOD"]
        if "monitored_barrier" in self._testMethodName:
            self.pass_for_the_imitated()
        self._spawn_processes()

    def pass_for_the_imitated(self) -> None:
        """torch.distributed.monitored_barrier refuses any name but gloo."""
        get_backend = dist.distributed_c10d.get_backend
        mock.patch.object(
            dist.distributed_c10d, "get_backend", lambda *args: Name(get_backend(*args))
        ).start()


CASES = [TestWeft]
