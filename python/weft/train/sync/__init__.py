"""Gradients averaged layer by layer, while the backward pass and the next forward pass run.

gradient_sync.py   GradientSync: what users call
agreement.py       what all ranks have to agree about before anything is changed
layout.py          slots and buckets: where each parameter's gradient lies, and its lane
lanes.py           the communicators, which end together
rounds.py          one averaging of all gradients: when each bucket may start
passes.py          hooks: which gradient came, which module is about to run
updates.py         the user's optimizer, run on some of its parameters
strategy.py        what a strategy does, and the strategies by name
allreduce.py       every rank gets all means and updates all parameters
sharded.py         every rank gets its shard's means, and updates this shard
tree.py            gradients go up a tree to the master, models come down another
"""

from weft.train.sync.gradient_sync import GradientSync

__all__ = ["GradientSync"]
