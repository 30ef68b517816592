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
