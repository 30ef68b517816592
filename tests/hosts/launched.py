"""One rank for test_launching.py: comes together by what its launcher says, for both packages.

mpirun -n 4 python launched.py
"""

import socket

import numpy as np
import torch
import torch.distributed as dist

import weft

with weft.init(timeout=30) as comm:
    mine = comm.allreduce(np.array([10.0**comm.rank]))[0]
weft.launch_environment()
dist.init_process_group("weft")
theirs = torch.tensor([10.0**comm.rank])
dist.all_reduce(theirs)
print(
    f"<rank {dist.get_rank()} of {comm.size} on {socket.gethostname()}: "
    f"{mine:g} and {theirs.item():g}>\n",
    end="",
    flush=True,
)
dist.destroy_process_group()
