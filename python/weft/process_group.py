"""Process groups of `torch.distributed`, as functions of Weft take them."""

from __future__ import annotations

import sys
from typing import Any

from weft.errors import InvalidArgument


def process_group(group: Any, who: str, instead: str = "") -> Any:
    """`group` as its user gave it: a process group, or None for torch's default one.

    Imports no torch: without it there is no group either. `instead` says for the errors what else
    the caller takes.

    Raises `InvalidArgument`, which starts with `who`: this rank is not in the group, there is no
    group, or `group` is something else.
    """
    dist: Any = sys.modules.get("torch.distributed")
    initialized = dist is not None and dist.is_available() and dist.is_initialized()
    if group is None and initialized:
        return dist.group.WORLD
    if group is None:
        raise InvalidArgument(
            f'{who}: there is no group: call torch.distributed.init_process_group("weft") first'
            + (f", or pass {instead}" if instead else "")
        )
    if initialized and group is dist.GroupMember.NON_GROUP_MEMBER:
        raise InvalidArgument(
            f"rank {dist.get_rank()}: {who}: this rank is not in the group: only its members call"
        )
    if initialized and isinstance(group, dist.ProcessGroup):
        return group
    raise InvalidArgument(
        f"{who}: group is a {type(group).__name__}: give "
        + ("a weft.Communicator, " if instead else "")
        + "a process group of torch.distributed, or None for the default process group"
    )
