"""The errors that Weft raises. Every message names the rank, the argument or peer, and the remedy.

After `PeerLost`, `Timeout`, `Mismatch` or `Communicator.abort` a communicator is dead: every
further call on it raises `Aborted` with the first cause. The others leave it usable. `weft.train`
raises `Mismatch` before it changes anything; that one leaves it usable, too.
"""

from __future__ import annotations


class WeftError(RuntimeError):
    """Base of all errors of Weft."""


class InvalidArgument(WeftError, ValueError):
    """An argument that this rank alone can see is wrong."""


class Unsupported(WeftError, NotImplementedError):
    """Well formed, but this build, fabric or element type does not support it."""


class Mismatch(WeftError):
    """Two ranks called different collectives, or the same with other arguments."""


class PeerLost(WeftError, ConnectionError):
    """A peer died or left while it was needed."""


class Timeout(WeftError, TimeoutError):
    """A wait ran past its deadline."""


class Aborted(WeftError):
    """Another rank, or the user, ended this communicator; the text has the first cause."""


class InvalidPlan(WeftError):
    """A plan that cannot be run, or that the verifier refused."""


class UnknownVariable(UserWarning):
    """The environment has a variable WEFT_... that Weft does not know; it may be misspelt."""


class InternalError(WeftError):
    """A bug in Weft. Please report it with its text."""
