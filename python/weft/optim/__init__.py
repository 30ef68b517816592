"""Optimizers that know how weights travel.

`SplitSGD` keeps bfloat16 weights and loses nothing of float32's precision. Needs PyTorch.
"""

from weft.optim.split_sgd import SplitSGD

__all__ = ["SplitSGD"]
