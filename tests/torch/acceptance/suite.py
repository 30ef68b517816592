"""PyTorch's own tests of a distributed backend, with Weft in the place of Gloo or MPI.

    BACKEND=gloo WORLD_SIZE=3 python suite.py TestWeft.test_all_reduce_sum

torch decides while it defines the tests which of them a backend gets, by the environment variable
BACKEND; while they run, the same name says what to start. So the module is imported under the
name whose set is wanted, and then told that the backend is "weft".
"""

import os
import sys
import tempfile

IMITATED = os.environ.setdefault("WEFT_ACCEPTANCE_SET", os.environ.get("BACKEND", "gloo"))
os.environ["BACKEND"] = IMITATED
os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("TEMP_DIR", tempfile.mkdtemp(prefix="weft-acceptance-"))
for _part in ("barrier", "test_dir", "init_dir"):
    os.makedirs(os.path.join(os.environ["TEMP_DIR"], _part), exist_ok=True)

from torch.testing._internal.distributed import distributed_test  # noqa: E402


class Name(str):
    """The name "weft", which where tests choose their own code by it passes for the other."""

    def __eq__(self, other: object) -> bool:
        """Whether it is this name or the other."""
        return other in ("weft", IMITATED)

    __hash__ = str.__hash__


distributed_test.BACKEND = Name("weft")
os.environ["BACKEND"] = "weft"


class TestWeft(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    """Each test on WORLD_SIZE fresh processes."""

    def setUp(self) -> None:
        """Starts them."""
        super().setUp()
        self._spawn_processes()


if __name__ == "__main__":
    from torch.testing._internal.common_utils import run_tests

    if "--list" in sys.argv:
        print("\n".join(sorted(name for name in dir(TestWeft) if name.startswith("test_"))))
    else:
        run_tests()
