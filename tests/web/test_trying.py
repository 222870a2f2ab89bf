"""What a playbook would do, and what the log says, asked over the web."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from noetl_mcp.database import connect
from noetl_mcp.web.trying import ASKED, TRIED
from tests.cli.commands import noetl
from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.web.site import HEAD, HELLO, Site, serving

TRY = "/api/executions/dry-run"
ORDERING = (
    HEAD
    + "workload: {url: '', number: A-1}\n"
    + """workflow:
  - {step: start, next: [look]}
  - {step: look, type: http, url: '{{ workload.url }}/look', next: [order]}
  - step: order
    type: http
    method: POST
    url: '{{ workload.url }}/orders'
    headers: {Authorization: 'Bearer {{ secrets.shop }}'}
    data: {number: '{{ workload.number }}', price: '{{ look.data.price }}'}
    confirm: true
    next: [end]
  - {step: end}
"""
)
SPINNING = (
    HEAD + "workflow:\n  - {step: start, next: [spin]}\n  - step: spin\n    type: python\n"
    "    code: |\n      def main():\n          while True:\n              pass\n"
    "    next: [end]\n  - {step: end}\n"
)
ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where a.range + b.range % 7 = 3"


class Shop:
    """A server that counts what it is asked; `/slow` answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.came, self.go_on = threading.Event(), threading.Event()
        shop = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                shop.asked.append(f"{self.command} {self.path}")
                if self.path.startswith("/slow"):
                    shop.came.set()
                    shop.go_on.wait(30)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                with suppress(ConnectionError):  # whoever asked may be gone
                    self.wfile.write(b'{"price": 7}')

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def shop() -> Iterator[Shop]:
    made = Shop()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.go_on.set()
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def executions(site: Site) -> int:
    with connect(site.home.dsn, application_name="count") as connection:
        return int(connection.execute("select count(*) from noetl.execution").fetchall()[0][0])


def errands() -> list[int]:
    """Return the processes of this test that are at work for clients."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            line = (one / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and b"noetl_mcp.web.errands" in line:
            found.append(int(one.name))
    return found


def until(holds: Any, seconds: float = 20) -> None:
    """Wait until something holds; fail when it never does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.02)


def copies() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"noetl-apart-{os.getpid()}-*"))


@contextmanager
def left_behind(site: Site, path: str, body: Any) -> Iterator[None]:
    """Send a request and leave as soon as something is at work for it."""
    client = httpx.Client(base_url=site.url, timeout=60)

    def send() -> None:
        with pytest.raises(httpx.HTTPError):
            client.post(path, json=body)

    thread = threading.Thread(target=send)
    thread.start()
    until(errands)
    yield
    for one in client._transport._pool.connections:  # type: ignore[attr-defined]
        one._connection._network_stream._sock.shutdown(2)
    thread.join(20)
    client.close()


def test_a_dry_run_reads_and_sends_no_write(
    site: Site, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_SECRET_SHOP", "s3cret")

    answer = site.client.post(TRY, json={"content": ORDERING, "payload": {"url": shop.url}})

    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert shop.asked == ["GET /look"]
    assert (found["allowed"], found["verdict"], found["dry_run"]) == (True, "allowed", True)
    (write,) = found["writes"]
    assert write["request"]["body"] == {"number": "A-1", "price": 7}
    assert "s3cret" not in answer.text
    assert executions(site) == 0
    assert site.get("/api/catalog") == []


def test_a_dry_run_says_what_the_command_says(site: Site, shop: Shop, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(ORDERING)
    sets = [f"url={shop.url}", "number=B-2"]

    told = noetl(
        "run",
        file,
        "--dry-run",
        "--json",
        "--set",
        sets[0],
        "--set",
        sets[1],
        NOETL_HOME=str(tmp_path),
    ).json()
    found = site.post(TRY, {"content": ORDERING, "set": sets})

    assert found == told
    assert found["warnings"][0].startswith("Warning: not-given: there is no secret 'shop'")


def test_a_playbook_of_the_catalog_is_tried_in_the_version_that_is_asked_for(site: Site) -> None:
    site.post("/api/catalog", {"content": HELLO}, 201)
    site.post("/api/catalog", {"content": HELLO.replace("n: 1", "n: 2")}, 201)

    latest = site.post(TRY, {"path": "tests/t"})
    first = site.post(TRY, {"path": "tests/t", "version": 1, "payload": {"n": 9}})

    assert (latest["version"], latest["result"]) == (2, 2)
    assert (first["version"], first["result"]) == (1, 9)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 400, "'path' is needed"),
        ({"path": "no/such"}, 404, "'no/such' is not in the catalog"),
        ({"path": "a", "content": HELLO}, 400, "leave 'path' out"),
        ({"content": "workflow: ["}, 422, "does not compile"),
        ({"content": HELLO, "payload": {"m": 1}}, 422, "unknown-name"),
        ({"content": HELLO, "set": ["n:={"]}, 422, "not JSON"),
        ({"content": HELLO, "key": "k"}, 400, "there is no field 'key'"),
        ({"content": HELLO, "seconds": 0}, 400, "'seconds' must be a whole number of 1 to 600"),
    ],
)
def test_what_cannot_be_tried_is_told_so(
    site: Site, body: dict[str, Any], status: int, says: str
) -> None:
    answer = site.client.post(TRY, json=body)

    assert answer.status_code == status
    assert says in answer.text
    assert copies() == []


def test_a_dry_run_ends_at_its_time_with_all_that_it_began(site: Site) -> None:
    refused = site.post(TRY, {"content": SPINNING, "seconds": 3}, 504)

    assert refused["error"]["message"] == "it took longer than 3 s"
    assert (errands(), copies()) == ([], [])
    assert site.get("/health") == {"status": "ok"}


def test_the_server_answers_others_while_playbooks_are_tried_and_takes_no_more_than_it_can(
    site: Site, shop: Shop
) -> None:
    waits = ORDERING.replace("/look'", "/slow'")
    body = {"content": waits, "payload": {"url": shop.url}}
    answers: list[httpx.Response] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(httpx.post(site.url + TRY, json=body, timeout=60))
        )
        for _ in range(TRIED.most)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(shop.asked) == TRIED.most)

    refused = site.post(TRY, body, 503)
    health = site.get("/health")
    shop.go_on.set()
    for thread in threads:
        thread.join()

    assert refused["error"]["code"] == "busy"
    assert health == {"status": "ok"}
    assert [one.status_code for one in answers] == [200] * TRIED.most


def test_who_leaves_takes_what_was_done_for_him_along(site: Site, shop: Shop) -> None:
    body = {"content": ORDERING.replace("/look'", "/slow'"), "payload": {"url": shop.url}}

    with left_behind(site, TRY, body):
        shop.came.wait(20)

    until(lambda: not errands() and not copies())
    with connect(site.home.dsn, application_name="audit") as connection:
        until(
            lambda: (
                connection.execute(
                    "select who, whence, target, outcome from noetl.audit where action = 'dry_run'"
                ).fetchall()
                == [("local", "web", "<content>", "the client left")]
            )
        )


def test_a_server_that_leaves_takes_what_is_at_work_along(
    database: str,  # noqa: F811  # a fixture asks for it
    shop: Shop,
    tmp_path: Path,
) -> None:
    body = {"content": ORDERING.replace("/look'", "/slow'"), "payload": {"url": shop.url}}
    answers: list[httpx.Response] = []

    with serving(database, tmp_path, drain=1) as site:
        url = site.url + TRY
        thread = threading.Thread(
            target=lambda: answers.append(httpx.post(url, json=body, timeout=60))
        )
        thread.start()
        assert shop.came.wait(20)
    thread.join()

    assert answers[0].status_code == 503
    assert answers[0].json()["error"]["code"] == "leaving"
    assert (errands(), copies()) == ([], [])


def test_a_process_that_is_killed_is_told_of(site: Site, shop: Shop) -> None:
    body = {"content": ORDERING.replace("/look'", "/slow'"), "payload": {"url": shop.url}}
    answers: list[httpx.Response] = []
    thread = threading.Thread(
        target=lambda: answers.append(httpx.post(site.url + TRY, json=body, timeout=60))
    )
    thread.start()
    assert shop.came.wait(20)

    for one in errands():
        os.kill(one, signal.SIGKILL)
    thread.join()

    assert answers[0].status_code == 500
    assert "ended without an answer" in answers[0].json()["error"]["message"]


def test_a_question_is_asked_by_its_name(site: Site) -> None:
    site.start(HELLO)
    site.work()

    names = [one["name"] for one in site.get("/api/questions")]
    found = site.post("/api/ask", {"question": "playbooks"})

    assert "playbooks" in names
    assert found["columns"][0] == "playbook"
    assert [row["playbook"] for row in found["rows"]] == ["tests/t"]
    assert (found["is_cut"], found["events"] > 0) == (False, True)


def test_a_question_of_ones_own_sees_what_steps_gave_and_is_cut_where_it_is_said(
    site: Site,
) -> None:
    site.start(HELLO)
    site.work()
    sql = "select kind, data from events order by id"

    found = site.post("/api/ask", {"sql": sql, "limit": 2})
    old = site.post("/api/ask", {"sql": sql, "since": "2020-01-01"})

    assert (len(found["rows"]), found["is_cut"]) == (2, True)
    assert len(old["rows"]) == old["events"]
    assert any('"n"' in (row["data"] or "") for row in old["rows"])


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 400, "ask either a 'question' by its name or 'sql'"),
        ({"question": "playbooks", "sql": "select 1"}, 400, "ask either"),
        ({"question": "playbook"}, 404, "did you mean 'playbooks'?"),
        ({"sql": "select 1", "since": "lately"}, 400, "'since': 'lately' is no time"),
        ({"sql": "select 1", "limit": 100_001}, 400, "'limit' must be"),
        ({"sql": "delete from events"}, 422, "only a select can be asked"),
        ({"sql": "select 1; select 2"}, 422, "one select can be asked at a time"),
        ({"sql": "select * from read_text('/etc/passwd')"}, 422, "not-answered"),
        ({"sql": "copy events to '/tmp/x.csv'"}, 422, "only a select can be asked"),
        ({"sql": "set memory_limit = '100GB'"}, 422, "only a select can be asked"),
        ({"sql": "select repeat('x', 1000000) from range(100)"}, 422, "longer than 16 MiB"),
        ({"sql": ENDLESS, "seconds": 3}, 504, "it took longer than 3 s"),
    ],
)
def test_a_question_can_only_read_the_log_within_its_bounds(
    site: Site, body: dict[str, Any], status: int, says: str
) -> None:
    answer = site.client.post("/api/ask", json=body)

    assert answer.status_code == status, answer.text
    assert says in answer.text
    assert (errands(), copies()) == ([], [])


def test_who_asks_no_longer_frees_the_place(site: Site) -> None:
    for _ in range(ASKED.most + 1):
        with left_behind(site, "/api/ask", {"sql": ENDLESS}):
            pass
        until(lambda: not errands() and not copies())

    assert site.post("/api/ask", {"sql": "select 1 as n"})["rows"] == [{"n": 1}]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", TRY, {}), ("POST", "/api/ask", {"sql": "select 1"}), ("GET", "/api/doctor", None)],
)
def test_what_takes_more_than_a_look_is_for_operators(
    site: Site, method: str, path: str, body: Any
) -> None:
    headers = {"Authorization": f"Bearer {site.token('v', 'viewer')}"}

    answer = site.client.request(method, path, json=body, headers=headers)

    assert answer.status_code == 403
    assert "'operator'" in answer.text


def test_doctor_finds_what_the_command_finds_and_does_not_tell_how_the_database_is_reached(
    site: Site,
) -> None:
    answer = site.client.get("/api/doctor")

    found = answer.json()
    assert answer.status_code == 200
    assert site.home.dsn not in answer.text

    told = {one["what"]: one for one in found}
    assert {"python", "libraries", "settings", "database", "workers", "credentials"} <= set(told)
    assert told["database"]["state"] == "fine"
    assert set(found[0]) == {"what", "state", "says", "advice"}
