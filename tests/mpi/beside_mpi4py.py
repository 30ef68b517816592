"""A rank: `beside_mpi4py.py PROBE LEVEL` runs PROBE.so beside mpi4py; LEVEL "none": alone."""

import ctypes
import sys

probe, level = sys.argv[1:3]
MPI = None
if level != "none":
    import mpi4py

    mpi4py.rc.thread_level = level
    from mpi4py import MPI

weft = ctypes.CDLL(probe)
if MPI is None:
    sys.exit(weft.weft_mpi_probe(2))  # Weft initialises, and finalises when Python ends

result = weft.weft_mpi_probe(2)
assert not MPI.Is_finalized()
# The program's own use goes on.
assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size
sys.exit(result)
