"""The mean of every rank's NumPy array. Start it in one of these ways:

torchrun --nproc-per-node 2 examples/numpy/allreduce.py
mpirun -n 2 python examples/numpy/allreduce.py          # Open MPI's; or srun -n 2

export WEFT_RENDEZVOUS=$(mktemp -d) WORLD_SIZE=2        # without torch
RANK=1 python examples/numpy/allreduce.py & RANK=0 python examples/numpy/allreduce.py; wait
"""

import numpy as np

import weft

with weft.init() as comm:
    gradient = np.full((3, 4), float(comm.rank))
    mean = comm.allreduce(gradient, "avg")

    # In symmetric memory peers read the array where it lies: one copy less.
    weights = weft.empty(1_000_000, dtype="float32")
    weights[:] = comm.rank
    comm.broadcast(weights, root=comm.size - 1, out=weights)

    print(f"rank {comm.rank} of {comm.size}: mean {mean[0, 0]}, weights {weights[-1]}")
