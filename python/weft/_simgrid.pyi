"""Types of the module weft._simgrid (python/simgrid), which is there where SimGrid is."""

from collections.abc import Mapping, Sequence

from weft._core import Plan, Topology

# ((process, reader of its lines), bytes of a chunk)
_Started = tuple[tuple[int, int], int]

def start_algorithm(
    algorithm: str,
    topology: Topology,
    ranks: int,
    nbytes: int,
    params: Mapping[str, int | str | Sequence[int]],
    chunk: int,
    dtype: str,
    symmetric: bool,
    in_place: bool,
    model: str,
    energy: bool,
) -> _Started: ...
def start_plan(
    plan: Plan,
    topology: Topology,
    nbytes: int,
    chunk: int,
    dtype: str,
    symmetric: bool,
    in_place: bool,
    model: str,
    energy: bool,
) -> _Started: ...

class TrainingStep:
    """python/simgrid/training.cc."""

    def __init__(self, ranks: int) -> None: ...
    def add_algorithm(
        self,
        algorithm: str,
        params: Mapping[str, int | str | Sequence[int]],
        nbytes: int,
        chunk: int,
        dtype: str,
        symmetric: bool,
        priority: int,
    ) -> None: ...
    def add_plan(
        self, plan: Plan, nbytes: int, chunk: int, dtype: str, symmetric: bool, priority: int
    ) -> None: ...
    def add_task(self, lane: int, collective: int) -> None: ...
    def compute(self, rank: int, seconds: float) -> None: ...
    def start(self, rank: int, task: int, seconds: float, after: Sequence[int]) -> None: ...
    def wait(self, rank: int, task: int, before: bool) -> None: ...
    def run(
        self, topology: Topology, iterations: int, slowdown: float, model: str
    ) -> tuple[int, int]: ...
