"""A server that is called at the end of executions, in a thread of its own."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson


@dataclass
class Ear:
    """A server that keeps what it was told, and answers with the statuses that it was given."""

    url: str = ""
    heard: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def told(self, number: int = 0) -> Any:
        return orjson.loads(self.heard[number][1])

    def keys(self) -> list[str]:
        return [headers["idempotency-key"] for headers, _ in self.heard]


@contextmanager
def listening() -> Iterator[Ear]:
    """Yield a server that hears."""
    made = Ear()
    made.may_answer.set()

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.heard.append(({k.lower(): v for k, v in self.headers.items()}, body))
            made.may_answer.wait(20)
            with suppress(OSError):
                self.send_response(made.statuses.pop(0) if made.statuses else 204)
                self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}/end?token=secret"
    yield made
    made.may_answer.set()
    server.shutdown()
    thread.join()
    server.server_close()
