"""The variables that Slurm's srun and the mpiruns give to the processes that they start.

torchrun sets the variables that torch reads (RANK, WORLD_SIZE, MASTER_ADDR, ...). The others use
names of their own, and do not say where ranks may meet.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from weft.errors import InvalidArgument

# Below the ports that the system gives to those who ask for none (32768 and up).
_FIRST_PORT, _PORTS = 12000, 20000


@dataclass(frozen=True)
class Launch:
    """How this process was launched.

    Attributes:
        launcher: its name, for messages.
        rank_name: the variable that says this rank.
        rank: this rank, 0 <= rank < size.
        size: the number of ranks.
        local_rank: this rank's number on its host.
        job: equal on all ranks and another for each start; empty if the launcher names none.
        address: the host of rank 0; empty if the launcher does not say.
        how: the option that hands MASTER_ADDR to all ranks.
    """

    launcher: str
    rank_name: str
    rank: int
    size: int
    local_rank: int
    job: str
    address: str
    how: str

    def meeting_place(self) -> tuple[str, int]:
        """Rank 0's host and a port: MASTER_ADDR and MASTER_PORT where they are set.

        Raises:
            InvalidArgument: nothing says it; the error names the remedy.
        """
        address = os.environ.get("MASTER_ADDR") or self.address
        port = number("MASTER_PORT") if os.environ.get("MASTER_PORT") else self._port()
        missing = [] if address else ["MASTER_ADDR, the host of rank 0,"]
        missing += [] if port else ["MASTER_PORT, a port that is free there,"]
        if missing:
            raise InvalidArgument(
                f"rank {self.rank}: {self.launcher} does not say where the ranks may meet: give "
                f"{' and '.join(missing)} by {self.how}"
            )
        return address, port

    def _port(self) -> int:
        return _FIRST_PORT + zlib.crc32(self.job.encode()) % _PORTS if self.job else 0


def find_launch() -> Launch | None:
    """The launcher of this process; None for torchrun and for unknown ones.

    An mpirun inside of a Slurm job counts before the job: its daemons are what srun started.

    Raises:
        InvalidArgument: naming a variable that is missing beside others of its launcher or wrong.
    """
    for marks, read in _LAUNCHERS:
        if any(mark in os.environ for mark in marks):
            return _checked(read())
    return None


def number(name: str) -> int:
    """The whole number that a variable is set to. Raises `InvalidArgument` naming it."""
    text = os.environ[name]
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"{name} is {text!r}: set it to a whole number") from None


def first_host(hosts: str) -> str:
    """The first of a list as Slurm writes it: "node[03-05,9],login" gives "node03"."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])*", hosts)
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first.group() if first else "")


def _open_mpi() -> Launch:
    names = [f"OMPI_COMM_WORLD_{word}" for word in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")]
    _need("Open MPI's mpirun", *names)
    rank, size, local_rank, local_size = (number(name) for name in names)
    return Launch(
        launcher="Open MPI's mpirun",
        rank_name=names[0],
        rank=rank,
        size=size,
        local_rank=local_rank,
        job=os.environ.get("PMIX_NAMESPACE", ""),
        address="127.0.0.1" if local_size == size else "",
        how="`mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=PORT`",
    )


def _hydra() -> Launch:
    _need("mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")
    size = number("PMI_SIZE")
    # Intel MPI's; MPICH's has nothing that is the same for all ranks of a job and for no other.
    job = os.environ.get("I_MPI_HYDRA_UUID", "")
    return Launch(
        launcher="mpiexec (MPICH's or Intel MPI's)",
        rank_name="PMI_RANK",
        rank=number("PMI_RANK"),
        size=size,
        local_rank=number("MPI_LOCALRANKID"),
        job=job or (f"process {os.getpid()}" if size == 1 else ""),
        address="127.0.0.1" if number("MPI_LOCALNRANKS") == size else "",
        how="`mpiexec -genv MASTER_ADDR HOST -genv MASTER_PORT PORT`",
    )


def _slurm() -> Launch:
    names = ("SLURM_JOB_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NODELIST")
    _need("Slurm's srun", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", *names)
    address = first_host(os.environ["SLURM_STEP_NODELIST"])
    if os.environ.get("SLURM_STEP_NUM_NODES") == "1":
        address = "127.0.0.1"
    # Then the user's file says where rank 0 is; the list has another order.
    elif os.environ.get("SLURM_DISTRIBUTION", "").startswith("arbitrary"):
        address = ""
    return Launch(
        launcher="Slurm's srun",
        rank_name="SLURM_PROCID",
        rank=number("SLURM_PROCID"),
        size=number("SLURM_STEP_NUM_TASKS"),
        local_rank=number("SLURM_LOCALID"),
        job=f"slurm {os.environ['SLURM_JOB_ID']}.{os.environ['SLURM_STEP_ID']}",
        address=address,
        how="`export MASTER_ADDR=HOST` before `srun`",
    )


# Variables that only its processes have (srun may set PMI_RANK as well, and a batch script of Slurm
# has a SLURM_PROCID), and what reads the rest.
_LAUNCHERS: tuple[tuple[tuple[str, ...], Callable[[], Launch]], ...] = (
    (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), _open_mpi),
    (("MPI_LOCALRANKID", "MPI_LOCALNRANKS"), _hydra),
    (("SLURM_STEP_ID",), _slurm),
)


def _need(launcher: str, *names: str) -> None:
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise InvalidArgument(
            f"{missing[0]} is not set, but other variables of {launcher} are: start all ranks by "
            "it, with all of its variables, or set RANK and WORLD_SIZE"
        )


def _checked(launch: Launch) -> Launch:
    if not 0 <= launch.rank < launch.size:
        raise InvalidArgument(
            f"{launch.rank_name} is {launch.rank}, but {launch.launcher} says that there are "
            f"{launch.size} ranks: start all of them by it, or set RANK and WORLD_SIZE"
        )
    return launch
