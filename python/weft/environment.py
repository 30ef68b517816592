"""This rank, and where ranks meet: reads the environment in a fixed order.

Rank and size: RANK and WORLD_SIZE (torchrun's, or the user's), else the launcher's own variables.
The place: MASTER_ADDR and MASTER_PORT, each else what follows from the launcher.
"""

from __future__ import annotations

import functools
import os
import warnings

from weft import _core
from weft.arguments import whole
from weft.errors import InvalidArgument, UnknownVariable
from weft.launchers import Launch, find_launch, number

_HOW = (
    "start the program with `torchrun --nproc-per-node N program.py`, srun or mpirun, or set RANK, "
    "WORLD_SIZE and WEFT_RENDEZVOUS, a directory that is new for each job and that all ranks see, "
    "or pass weft.init(rank, size, rendezvous=directory)"
)


def variable(name: str) -> str:
    """What the environment says for one of Weft's variables; empty if it is not set."""
    return next(one["value"] for one in _core.environment_variables() if one["name"] == name)


@functools.cache
def warn_of_unknown_variables() -> None:
    """Warns of variables that may be misspelt, once in a process."""
    for sentence in _core.unknown_environment_variables():
        warnings.warn(sentence, UnknownVariable, stacklevel=3)


def place(rank: int | None, size: int | None) -> tuple[int, int]:
    """This rank and the number of ranks: as given, else the environment's."""
    if rank is None and size is None:
        rank, size = _own_place()
    elif rank is None:
        rank = number("RANK") if os.environ.get("RANK") else _own_place()[0]
    elif size is None:
        size = number("WORLD_SIZE") if os.environ.get("WORLD_SIZE") else _own_place()[1]
    assert rank is not None
    assert size is not None
    rank, size = whole(rank, "init: rank"), whole(size, "init: size")
    if size < 1 or not 0 <= rank < size:
        raise InvalidArgument(f"rank {rank} of {size} ranks: give size >= 1 and 0 <= rank < size")
    return rank, size


def meeting_place(rank: int, size: int) -> tuple[str, int, str]:
    """Host, port, and words that no other job's ranks would use if they came to the same port."""
    given = [name for name in ("MASTER_ADDR", "MASTER_PORT") if os.environ.get(name)]
    if len(given) == 2:
        return os.environ["MASTER_ADDR"], number("MASTER_PORT"), ""
    if launch := _launch_of(rank, size):
        return *launch.meeting_place(), f"/{launch.job}" if launch.job else ""
    if given:
        other = ({"MASTER_ADDR", "MASTER_PORT"} - set(given)).pop()
        raise InvalidArgument(f"rank {rank}: {given[0]} is set but {other} is not set: {_HOW}")
    raise InvalidArgument(f"rank {rank}: no rendezvous: {_HOW}")


def launch_environment() -> dict[str, str]:
    """Sets what torch reads (RANK, WORLD_SIZE, ...) where srun or an mpirun launched the program.

    Call it before `torch.distributed.init_process_group`, with any backend. RANK, WORLD_SIZE,
    LOCAL_RANK, MASTER_ADDR and MASTER_PORT are set in `os.environ` where they are not set; under
    torchrun none is missing, and if nobody launched the program nothing is set. Not thread
    safe.

    Returns:
        What it has set.

    Raises:
        InvalidArgument: variables contradict each other or are incomplete, or the launcher does not
            say on which host rank 0 is. The error names the remedy.
    """
    launch = None if _by_torchrun() else find_launch()
    if launch is None:
        return {}
    rank, size = _own_place()
    if (rank, size) != (launch.rank, launch.size):
        return {}
    address, port = launch.meeting_place()
    said: dict[str, int | str] = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": launch.local_rank}
    said |= {"MASTER_ADDR": address, "MASTER_PORT": port}
    new = {name: str(value) for name, value in said.items() if not os.environ.get(name)}
    os.environ.update(new)
    return new


def _by_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ


def _own_place() -> tuple[int, int]:
    """RANK and WORLD_SIZE, else what the launcher says."""
    given = [name for name in ("RANK", "WORLD_SIZE") if os.environ.get(name)]
    if len(given) == 2:
        rank, size = number("RANK"), number("WORLD_SIZE")
        _check_launcher(rank, size)
        return rank, size
    launch = find_launch()
    if given:
        other = ({"RANK", "WORLD_SIZE"} - set(given)).pop()
        also = f", or unset {given[0]}: {launch.launcher} says both" if launch else ""
        raise InvalidArgument(f"{given[0]} is set but {other} is not set: {_HOW}{also}")
    if launch is None:
        raise InvalidArgument(f"RANK is not set: {_HOW}")
    return launch.rank, launch.size


def _launch_of(rank: int, size: int) -> Launch | None:
    """The launch of exactly these ranks."""
    launch = None if _by_torchrun() else find_launch()
    return launch if launch and (launch.rank, launch.size) == (rank, size) else None


def _check_launcher(rank: int, size: int) -> None:
    """Refuses one RANK that was set for all ranks of a launcher."""
    if _by_torchrun():
        return
    try:
        launch = find_launch()
    except InvalidArgument:  # the remedy is to set RANK and WORLD_SIZE
        return
    # Another size is another world: processes that a rank has started.
    if launch and launch.size == size and launch.rank != rank:
        raise InvalidArgument(
            f"RANK is {rank}, but {launch.rank_name} is {launch.rank}, both of {size} ranks: unset "
            f"RANK and WORLD_SIZE, as {launch.launcher} says them, or pass weft.init(rank, size)"
        )
