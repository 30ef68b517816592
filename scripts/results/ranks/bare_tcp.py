"""Bytes over plain TCP, without a library: what the machine asks of any of them.

As many bytes as a step's collectives move between two hosts go from this rank to its partner and
back, by one call of the kernel each way. Nothing is cut, added up or waited for in between.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import torch.distributed as dist


class BareTcp:
    """`start()`, then `wait()`: `nbytes` have gone both ways; `received` has the partner's.

    Two daemon threads of its own. One thread at a time may call it.
    """

    def __init__(
        self, store: dist.Store, address: str, rank: int, partner: int, nbytes: int
    ) -> None:
        self._out = bytes([rank % 255 + 1]) * nbytes
        self.received = bytearray(nbytes)
        self._socket = _joined(store, address, rank, partner)
        # The payload is long, and a short last segment must not wait for an acknowledgement.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._begin = [threading.Semaphore(0), threading.Semaphore(0)]
        self._done = threading.Semaphore(0)
        self._error: OSError | None = None
        for begin, work in zip(self._begin, (self._send, self._receive), strict=True):
            threading.Thread(target=self._serve, args=(begin, work), daemon=True).start()

    def start(self) -> None:
        """Both directions begin."""
        for begin in self._begin:
            begin.release()

    def wait(self) -> None:
        """Both directions of one start() have ended. Raises OSError if the partner has gone."""
        for _ in self._begin:
            self._done.acquire()
        if self._error is not None:
            raise self._error

    def meet(self) -> None:
        """Returns when the partner is here, too. Between a wait() and a start()."""
        self._socket.sendall(b"!")
        if not self._socket.recv(1):
            raise ConnectionError("the partner has gone")

    def close(self) -> None:
        """The partner's wait() then fails."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self, begin: threading.Semaphore, work: Callable[[], None]) -> None:
        while True:
            begin.acquire()
            try:
                work()
            except OSError as error:
                self._error = error
            self._done.release()

    def _send(self) -> None:
        self._socket.sendall(self._out)

    def _receive(self) -> None:
        # One call may bring less: it returns what has come if a signal does.
        view = memoryview(self.received)
        while view:
            came = self._socket.recv_into(view, 0, socket.MSG_WAITALL)
            if came == 0:
                raise ConnectionError("the partner has gone")
            view = view[came:]


def _joined(store: dist.Store, address: str, rank: int, partner: int) -> socket.socket:
    """A connection; the lower rank listens."""
    if rank < partner:
        with socket.create_server((address, 0)) as server:
            store.set(f"bare-{rank}", f"{address} {server.getsockname()[1]}")
            return server.accept()[0]
    host, port = store.get(f"bare-{partner}").decode().split()
    return socket.create_connection((host, int(port)))
