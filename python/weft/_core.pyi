"""The C++ core (python/bindings). Use the package weft, which documents and checks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

ANY_SOURCE: int

class Request:
    def test(self) -> bool: ...
    def wait(self, timeout: float = 0.0) -> None: ...
    def source(self) -> int: ...

class Communicator:
    @staticmethod
    def create(store: Any, rank: int, size: int, timeout: float) -> Communicator: ...
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    timeout: float
    @property
    def closed(self) -> bool: ...
    def run(
        self,
        collective: str,
        input: Any = None,
        output: Any = None,
        count: int = 0,
        op: str = "sum",
        root: int = 0,
        scale: float = 1.0,
        input_counts: Sequence[int] | None = None,
        output_counts: Sequence[int] | None = None,
        algorithm: str = "",
        timeout: float = 0.0,
    ) -> None: ...
    def submit(
        self,
        collective: str,
        input: Any = None,
        output: Any = None,
        count: int = 0,
        op: str = "sum",
        root: int = 0,
        scale: float = 1.0,
        input_counts: Sequence[int] | None = None,
        output_counts: Sequence[int] | None = None,
        algorithm: str = "",
        timeout: float = 0.0,
    ) -> Request: ...
    def algorithm_for(
        self,
        collective: str,
        input: Any = None,
        output: Any = None,
        count: int = 0,
        op: str = "sum",
        root: int = 0,
        scale: float = 1.0,
        input_counts: Sequence[int] | None = None,
        output_counts: Sequence[int] | None = None,
        algorithm: str = "",
        timeout: float = 0.0,
    ) -> str: ...
    def isend(self, x: Any, destination: int, tag: int) -> Request: ...
    def irecv(self, out: Any, source: int, tag: int) -> Request: ...
    def split(self, color: int, key: int) -> Communicator | None: ...
    def abort(self, why: str) -> None: ...
    def close(self) -> None: ...

def symmetric_bytes(bytes: int) -> np.ndarray: ...
