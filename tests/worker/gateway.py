"""A gateway that says what a test wants, and tools that it may ask for: a real server."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Says = Callable[[Mapping[str, Any], int], Any]
"""What is answered to a request, by its body and its number: a body, a status, or both."""


@dataclass
class Gateway:
    """A server, what it was asked, and which of its tools were called, with when each began."""

    says: Says
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    auth: list[str | None] = field(default_factory=list)
    called: list[tuple[str, str, float, float]] = field(default_factory=list)
    url: str = ""
    tool_seconds: float = 0.0
    tools_begun: int = 0
    cuts: bool = False
    """Whether tools that write break the connection instead of answering."""

    @property
    def tools(self) -> list[str]:
        return [path for _, path, _, _ in self.called]


def text(content: str, **more: Any) -> dict[str, Any]:
    """An answer without calls."""
    usage = {"input_tokens": 10, "output_tokens": 2}
    return {"content": content, "usage": usage, "finish_reason": "stop", **more}


def calls(*wanted: tuple[str, Any]) -> dict[str, Any]:
    """An answer that asks for tools."""
    made = [{"id": f"c{n}", "name": name, "arguments": a} for n, (name, a) in enumerate(wanted)]
    return {"content": "", "tool_calls": made, "usage": {"input_tokens": 5, "output_tokens": 1}}


@dataclass
class Stream:
    """An answer that is sent piece by piece, each when it comes; what stands for a text is JSON."""

    pieces: Iterable[Any]


def in_turn(*answers: Any) -> Says:
    """Say one after another, the last one for ever."""
    return lambda body, number: answers[min(number, len(answers)) - 1]


@contextmanager
def gateway(says: Says, port: int = 0) -> Iterator[Gateway]:
    """Serve for as long as a test needs it."""
    made = Gateway(says)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path.startswith("/tool/"):
                self.tool("POST")
                return
            made.paths.append(self.path)
            made.auth.append(self.headers.get("Authorization"))
            made.asked.append(json.loads(body))
            said = made.says(made.asked[-1], len(made.asked))
            status, headers = 200, {}
            if isinstance(said, tuple):
                status, headers, said = said
            if isinstance(said, Stream):
                self.stream(said)
                return
            self.give(status, json.dumps(said).encode(), headers)

        def do_GET(self) -> None:
            self.tool("GET")

        def tool(self, method: str) -> None:
            began = time.monotonic()
            made.tools_begun += 1
            time.sleep(made.tool_seconds)
            made.called.append((method, self.path, began, time.monotonic()))
            if made.cuts and method == "POST":
                self.close_connection = True
                return
            self.give(200, json.dumps({"at": self.path}).encode(), {})

        def stream(self, said: Stream) -> None:
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for one in said.pieces:
                event = one if isinstance(one, str) else json.dumps(one)
                self.wfile.write(f"data: {event}\n\n".encode())
                self.wfile.flush()

        def give(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


__all__ = ["Gateway", "Stream", "calls", "gateway", "in_turn", "text"]
