"""What a training program needs beside collectives: groups of ranks, and parameters to start from.

`Distribution` divides the ranks into data groups and model groups. `broadcast_parameters` gives
all ranks the same parameters, and `GradientSync` keeps them equal while the ranks train. All work
over a `weft.Communicator` or over torch's process groups. PyTorch is not imported before a function
needs it; `Distribution` over a communicator never does.
"""

from weft.train.distribution import Distribution
from weft.train.parameters import broadcast_parameters
from weft.train.sync import GradientSync

__all__ = ["Distribution", "GradientSync", "broadcast_parameters"]
