"""The example of each task type on its page runs, and gives what it says."""

import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from noetl_mcp.tasks.registry import BUILT_IN, NOT_YET
from tests.cli.commands import noetl
from tests.postgres import database, postgres  # noqa: F401 - fixtures

DOCS = Path(__file__).parent.parent / "docs"
EXAMPLES = DOCS / "reference-parts" / "examples"
RUNNING = sorted(BUILT_IN.keys() - NOT_YET)


@contextmanager
def server() -> Iterator[str]:
    """Answers with what it was asked: a query, or the parameters of a call."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.give({"query": dict(parse_qsl(urlsplit(self.path).query))})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.give({"jsonrpc": "2.0", "id": asked["id"], "result": asked["params"]})

        def give(self, answer: object) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        thread.join()
        made.server_close()


def rooms_server() -> str:
    """The MCP server as its page shows it."""
    page = (DOCS / "how-to" / "call-mcp-servers.md").read_text()
    found = re.search(r"`rooms_server\.py`:\n\n```python\n(.+?)\n```", page, re.S)
    assert found is not None
    return found[1]


def test_every_type_that_runs_has_an_example() -> None:
    assert sorted(path.stem for path in EXAMPLES.iterdir()) == RUNNING


@pytest.mark.parametrize("name", RUNNING)
def test_the_example_of_a_type_gives_what_it_says(
    name: str,
    tmp_path: Path,
    database: str,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (EXAMPLES / f"{name}.yaml").read_text()
    assert f"type: {name}\n" in text
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rooms_server.py").write_text(rooms_server())
    told: dict[str, Any] = {
        "NOETL_DSN": database,
        "NOETL_HOME": str(tmp_path / "home"),
        "NOETL_FILES": str(tmp_path),
        "NOETL_ALLOW_SHELL": "1",
        "NOETL_SECRET_PG_DSN": database,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    with server() as address:
        if name == "playbook":
            assert noetl("submit", EXAMPLES / "set.yaml", **told).code == 0
        here = ["--set", f"server={address}"] if "server:" in text else []

        ran = noetl("run", EXAMPLES / f"{name}.yaml", *here, **told)

    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == json.loads(text.rpartition("# gives ")[2])
