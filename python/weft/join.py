"""How ranks come together: `weft.init`, `Communicator.from_mpi`, `Communicator.from_group`."""

from __future__ import annotations

import os
import sys
from typing import Any

from weft import _core, arguments
from weft.communicator import Communicator
from weft.environment import place, warn_of_unknown_variables
from weft.errors import InvalidArgument
from weft.process_group import process_group
from weft.rendezvous import find
from weft.workers import Workers, options_of


def init(
    rank: int | None = None,
    size: int | None = None,
    rendezvous: Any = None,
    timeout: float = 300.0,
    reproducible: bool = False,
    tuning: str | os.PathLike[str] = "",
    fabric: str = "",
    wire: str = "",
    priority: int = 0,
    workers: Workers | None = None,
) -> Communicator:
    """Joins the other ranks: collective over all `size` of them.

    When it returns, all ranks have joined, and the rendezvous is no longer needed.

    Arguments that are not given come from the environment. Rank and size: RANK and WORLD_SIZE, else
    the variables of Slurm's srun or an mpirun. Rendezvous: WEFT_RENDEZVOUS (a directory), else
    MASTER_ADDR and MASTER_PORT, else a place that follows from the launcher's job (both through
    torch's store). docs/launching.md has commands.

    Args:
        rank: this rank, 0 <= rank < size.
        size: the number of ranks.
        rendezvous: a directory that all ranks see and that is new for each job, a torch store,
            or any object with `set(key: str, value: bytes)` and
            `get(key: str, seconds: float) -> bytes`. A store is for one communicator. A directory
            or torch store is for any number, if all ranks make them in the same order.
        timeout: seconds that any wait may last, here and later in calls.
        reproducible: sums of floating and complex elements get the same bits whatever the
            algorithm, chunks, root, placement and instruction set. Holds for all ranks if any of
            them asks for it, here or by WEFT_REPRODUCIBLE=1. An algorithm that is named in a call
            and adds up otherwise raises `Unsupported`.
        tuning: the tuning file by which algorithms are chosen, "none" for none; by default what
            WEFT_TUNING says, or the user's own that `weft tune` wrote. Rank 0's holds for all.
        fabric: "shm", "ofi" (libfabric), "mpi" or "shmem" (OpenSHMEM), for ranks that a launcher of
            these has started; or shared memory within a node and another across: "shm+ofi",
            "shm+mpi", "shm+shmem". Equal on all ranks. By default what WEFT_FABRIC says, else shm
            where it reaches all ranks, and shm+ofi where they are on several hosts.
        wire: "bfloat16": float32 sums and averages of allreduce and reduce_scatter cross nodes in
            bf16, in half the bytes, and are added up in float32; each is rounded once on its way
            and an allreduce's result once more (docs/algorithms.md). bfloat16's cross in it,
            where the algorithm has the choice, in place of float32. Within a node, and for other
            types, nothing changes. Equal on all ranks; by default what WEFT_WIRE says, "none" for
            as they are. An algorithm that is named in a call and cannot raises `Unsupported`. Not
            together with `reproducible`.
        priority: where communicators of one process have calls under way at the same time, those
            of the highest priority go first. Whenever they can go, a call of a lower priority stops
            at the end of a chunk. Equal on all ranks.
        workers: the thread that carries on asynchronous calls, see `weft.Workers`; by default what
            the environment says. Each rank's own.

    Raises:
        Timeout: naming the ranks that did not come, or a peer that does not answer and its address.
        PeerLost: where a peer is gone or refuses this rank, with its address.
        Mismatch: where ranks run other versions of Weft, with both and their hosts.
        InvalidArgument: where rank, size or rendezvous is not known, saying the ways to give it;
            where RANK contradicts what the launcher says; where the tuning file or a variable of
            the environment is wrong, or ranks say different wires or priorities, on all ranks.
        Unsupported: where the fabric cannot reach all ranks, saying why.
    """
    warn_of_unknown_variables()
    rank, size = place(rank, size)
    who = f"rank {rank}: init"
    options = _options(who, timeout, reproducible, tuning, fabric, wire, priority, workers)
    store = find(rendezvous, rank, size, options[0])
    return _joined(_core.Communicator.create(store, rank, size, *options))


def from_mpi(
    comm: Any,
    timeout: float,
    reproducible: bool,
    tuning: str | os.PathLike[str],
    fabric: str | None,
    wire: str,
    priority: int,
    workers: Workers | None,
) -> Communicator:
    """`Communicator.from_mpi`."""
    warn_of_unknown_variables()
    who = "from_mpi"
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(comm, mpi.Comm):
        raise InvalidArgument(
            f"{who}: comm is {comm!r}: give a communicator of mpi4py, such as MPI.COMM_WORLD"
        )
    if not mpi.Is_initialized():
        raise InvalidArgument(f"{who}: MPI is not initialised: call MPI.Init_thread() before")
    options = _options(who, timeout, reproducible, tuning, fabric or "", wire, priority, workers)
    return _joined(_core.Communicator.from_mpi(mpi._handleof(comm), *options))


def from_group(
    group: Any,
    timeout: float,
    reproducible: bool,
    tuning: str | os.PathLike[str],
    fabric: str | None,
    wire: str,
    priority: int,
    workers: Workers | None,
) -> Communicator:
    """`Communicator.from_group`."""
    warn_of_unknown_variables()
    who = "from_group"
    ranks = process_group(group, who)
    options = _options(who, timeout, reproducible, tuning, fabric or "", wire, priority, workers)
    from torch.distributed import PrefixStore

    # The store counts the communicators of this group (`find`).
    shared = PrefixStore(f"weft/from_group/{ranks.group_name}", ranks.get_group_store())
    store = find(shared, ranks.rank(), ranks.size(), options[0])
    return _joined(_core.Communicator.create(store, ranks.rank(), ranks.size(), *options))


def _options(
    who: str,
    timeout: float,
    reproducible: bool,
    tuning: str | os.PathLike[str],
    fabric: str,
    wire: str,
    priority: int,
    workers: Workers | None,
) -> tuple[float, bool, str, str, str, int, _core.WorkerOptions]:
    """As the core takes them."""
    timeout = arguments.seconds(timeout, f"{who}: timeout")
    arguments.refuse_wrong(
        who, reproducible=reproducible, fabric=fabric, wire=wire, priority=priority
    )
    if not isinstance(tuning, (str, os.PathLike)):
        raise InvalidArgument(f"{who}: tuning is {tuning!r}: give the path of a file")
    worker = options_of(workers, who)
    return timeout, reproducible, os.fspath(tuning), fabric, wire, priority, worker


def _joined(core: _core.Communicator) -> Communicator:
    comm = Communicator(core)
    comm.barrier()
    return comm
