"""Operations in flight."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft.arguments import seconds
from weft.errors import InvalidArgument


class Request:
    """An operation in flight. It goes on, and its arrays live, even if the request is dropped."""

    def __init__(self, core: _core.Request, result: Any) -> None:
        self._core = core
        self._result = result

    def wait(self, timeout: float | None = None) -> Any:
        """Waits until it has finished; its result.

        Raises what it failed with, or `Timeout` after `timeout` seconds (None: no limit of its
        own, the operation has one); it then goes on and may be waited for again.
        """
        who = "wait: timeout (test() looks without waiting)"
        self._core.wait(0.0 if timeout is None else seconds(timeout, who))
        return self._result

    def test(self) -> bool:
        """Whether it has finished, well or not. Never waits."""
        return self._core.test()

    def note_end(self) -> None:
        """Asks for the time of its end, for `ended_ns`. Later calls lose what was noted."""
        self._core.note_end()

    @property
    def ended_ns(self) -> int:
        """When it ended, in nanoseconds of `time.perf_counter_ns()`. 0: not yet, or not asked."""
        return self._core.ended()

    @property
    def result(self) -> Any:
        """The result, once it has finished. Raises what it failed with."""
        if not self.test():
            raise InvalidArgument("the operation has not finished: call wait() first")
        return self.wait()

    @property
    def source(self) -> int:
        """The rank that sent, once a receive has finished."""
        if not self.test():
            raise InvalidArgument("the operation has not finished: call wait() first")
        return self._core.source()
