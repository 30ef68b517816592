"""The timeline of training steps: what each rank computed, sent and waited for.

`timeline` records it, `Trace` reads it, `draw` draws it. `recorder` is for code that records its
own spans.
"""

from weft.train.tracing.record import timeline
from weft.train.tracing.trace import Layer, Trace, read_trace

__all__ = ["Layer", "Trace", "read_trace", "timeline"]
