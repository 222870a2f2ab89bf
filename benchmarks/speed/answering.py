"""A server of small JSON answers in a process of its own, as quick as Python can be.

`/wait/N` is answered after N milliseconds, `/peak` tells how many requests were open at once since
it was last asked, everything else is answered at once. It ends when its standard input does.
"""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent))  # it is also run by itself

from speed.crew import Died

_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
_BODY = '{"id":7,"name":"door"}'
ANSWER = (_HEAD.format(len(_BODY)) + _BODY).encode()
_BACKLOG = 4096
_QUICK = b"GET /doors"
"""Requests that begin so come one at a time and have no body: no need to look at the rest."""


class Answers(asyncio.Protocol):
    """The least that a server can do."""

    at_once = peak = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to read."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.read = b""

    def data_received(self, data: bytes) -> None:
        """Answer every request that is there as a whole."""
        if not self.read and data.startswith(_QUICK) and data.endswith(b"\r\n\r\n"):
            self.transport.write(ANSWER)
            return
        self.read += data
        while (end := self.read.find(b"\r\n\r\n")) >= 0:
            head = self.read[:end]
            _, is_told, rest = head.lower().partition(b"content-length:")
            whole = end + 4 + (int(rest.split(b"\r\n")[0]) if is_told else 0)
            if len(self.read) < whole:
                return
            self.read = self.read[whole:]
            self._answer(head.split(b" ", 2)[1], b"connection: close" in head.lower())

    def _answer(self, path: bytes, closes: bool) -> None:
        kind = type(self)
        if path.startswith(b"/wait/"):
            kind.at_once += 1
            kind.peak = max(kind.peak, kind.at_once)
            seconds = int(path[6:].partition(b"?")[0]) / 1000
            asyncio.get_running_loop().call_later(seconds, self._later, closes)
            return
        if path.startswith(b"/peak"):
            text, kind.peak = str(kind.peak), kind.at_once
            self._write((_HEAD.format(len(text)) + text).encode(), closes)
            return
        self._write(ANSWER, closes)

    def _later(self, closes: bool) -> None:
        type(self).at_once -= 1
        self._write(ANSWER, closes)

    def _write(self, answer: bytes, closes: bool) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            if closes:
                self.transport.close()


async def serve() -> None:
    """Tell the port and answer."""
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(Answers, "127.0.0.1", 0, backlog=_BACKLOG)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


@contextmanager
def answering() -> Iterator[tuple[str, int]]:
    """Have such a server, and yield its address and its process."""
    server = subprocess.Popen(
        [sys.executable, Path(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        port = server.stdout.readline()
        if not port.strip():
            raise Died(f"the server that answers ended with {server.wait()}")
        yield f"http://127.0.0.1:{int(port)}", server.pid
    finally:
        server.kill()
        server.wait()


def peak(address: str) -> int:
    """Return how many requests were open at once since this was last asked."""
    with urlopen(f"{address}/peak", timeout=10) as answer:
        return int(answer.read())


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    uvloop.run(serve())
