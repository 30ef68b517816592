"""What a training program needs beside collectives: groups, parameters, exchanges, a timeline.

`Distribution` divides the ranks into data groups and model groups. `broadcast_parameters` gives
all ranks the same parameters, and `GradientSync` keeps them equal while the ranks train. `timeline`
records what training steps compute, send and wait for. All work over a `weft.Communicator` or over
torch's process groups. PyTorch is not imported before a function needs it; `Distribution` over a
communicator never does.
"""

from weft.train.distribution import Distribution
from weft.train.parameters import broadcast_parameters
from weft.train.sync import GradientSync
from weft.train.tracing import timeline

__all__ = ["Distribution", "GradientSync", "broadcast_parameters", "timeline"]
