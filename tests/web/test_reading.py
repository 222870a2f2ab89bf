"""Playbooks are read for the web by processes that are bounded, shared by nobody, and let go."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from noetl_mcp.assembly import Home
from noetl_mcp.settings import Settings
from noetl_mcp.web.apart import Apart, Errand
from noetl_mcp.web.faults import Fault, refused
from noetl_mcp.web.guard import Policy
from noetl_mcp.web.reading import READ
from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.web.site import HEAD, HELLO, READING, Site, chain, serving
from tests.web.test_trying import copies, errands, until


async def never() -> None:
    """Do not leave."""
    await asyncio.Event().wait()


def test_a_playbook_of_the_catalog_is_read_in_the_version_that_is_asked_for(site: Site) -> None:
    first = site.post("/api/catalog", {"content": HELLO}, 201)["digest"]
    second = site.post("/api/catalog", {"content": HELLO.replace("n: 1", "n: 2")}, 201)["digest"]

    assert site.post("/api/compile", {"path": "tests/t"})["digest"] == second
    assert site.post("/api/compile", {"path": "tests/t", "version": 1})["digest"] == first
    assert site.post("/api/validate", {"path": "tests/t"})["valid"]
    missing = site.post("/api/explain", {"path": "tests/t", "version": 3}, 404)["error"]
    assert missing["allowed"] == ["2", "1"]


@pytest.mark.parametrize("how", READING)
def test_what_is_no_json_or_no_text_is_refused(site: Site, how: str) -> None:
    kind = {"Content-Type": "application/json"}
    for content, status in (
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"content": "\\ud800"}', 400),
        (b'{"content": "' + b"x" * 17_000_000 + b'"}', 413),
    ):
        answer = site.client.post(f"/api/{how}", content=content, headers=kind)
        assert answer.status_code == status, answer.text
    assert site.client.post(f"/api/{how}", content=HELLO).status_code == 415
    assert site.client.get(f"/api/{how}").status_code == 405
    assert errands() == []


def test_whoever_may_look_may_read_and_nobody_else(
    database: str,  # noqa: F811  # a fixture asks for it
    tmp_path: Path,
) -> None:
    with serving(database, tmp_path, Policy(tokens=True)) as site:
        viewer = {"Authorization": f"Bearer {site.token('v', 'viewer')}"}
        for how in READING:
            body = {"content": HELLO}
            assert site.client.post(f"/api/{how}", json=body).status_code == 401
            assert site.client.post(f"/api/{how}", json=body, headers=viewer).status_code == 200
        for path in ("/api/rules", "/api/rules/NP201", "/api/schemas/plan"):
            assert site.client.get(path).status_code == 401
            assert site.client.get(path, headers=viewer).status_code == 200
        page = {**viewer, "Origin": "http://evil.example"}
        answer = site.client.post("/api/graph", json={"content": HELLO}, headers=page)
        assert answer.status_code == 403


SPY = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append([event, repr(given)]))
from noetl_mcp.web.reading_apart import done
answers = []
for text in json.load(sys.stdin):
    for how in ("validate", "compile", "explain", "draw", "migrate"):
        given = {"how": how, "content": text, "name": sys.argv[1], "strict": False,
                 "format": "png", "ascii": False, "width": 100, "memory": 2**30}
        answers.append(done({"given": given}).status_code)
kinds = ("open", "os.listdir", "os.scandir", "subprocess.Popen", "socket.connect")
print(json.dumps([answers, [one for one in opened if one[0] in kinds]]))
"""


def test_nothing_on_the_disk_of_the_server_is_read_however_a_playbook_names_it(
    tmp_path: Path,
) -> None:
    secret = tmp_path / "never-to-be-read.yaml"
    secret.write_text(HELLO)
    right = f"""{HEAD}
workload: {{inner: '{secret}', other: {{$ref: '{secret}'}}}}
workflow:
  - {{step: start, next: [read, call, run, load]}}
  - {{step: read, type: file, operation: read, path: '{secret}', next: [end]}}
  - {{step: call, type: playbook, path: '{secret}', next: [end]}}
  - {{step: run, type: python, code: "def main():\\n    open('{secret}')\\n", next: [end]}}
  - {{step: load, type: duckdb, sql: "select * from read_text('{secret}')", next: [end]}}
  - {{step: end, result: "{{{{ workload.inner }}}}"}}
"""
    wrong = right.replace("inner: ", "inner: !include ").replace("result: ", "cassette: ") + (
        f"include: '{secret}'\nfile: '{secret}'\nimport: {secret}\n<<: '{secret}'\n"
        f"x: \"{{% include '{secret}' %}}\"\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", SPY, str(secret)],
        input=json.dumps([right, wrong]),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )

    answers, done = json.loads(ran.stdout)
    assert answers == [200] * 6 + [422] * 4, ran.stderr
    assert [one for one in done if str(tmp_path) in one[1]] == []
    assert {kind for kind, _ in done} <= {"open", "os.listdir", "os.scandir"}


def test_what_is_small_is_read_by_the_process_that_read_the_last_one(site: Site) -> None:
    for how in (*READING, *READING):
        assert site.client.post(f"/api/{how}", json={"content": HELLO}).status_code == 200

    assert len(errands()) == 1
    assert len(copies()) == 1


def test_a_process_that_was_ended_while_it_waited_is_not_missed(site: Site) -> None:
    for _ in range(3):
        assert site.post("/api/validate", {"content": HELLO})["valid"]
        (one,) = errands()
        os.kill(one, 9)

    assert site.post("/api/validate", {"content": HELLO})["valid"]


def test_a_process_that_has_grown_waits_for_nobody(site: Site) -> None:
    body = {"content": chain(2_000), "format": "png"}

    answer = site.client.post("/api/graph", json=body, timeout=100)

    assert answer.status_code == 200
    assert (errands(), copies()) == ([], [])


def test_a_process_waits_only_a_moment(tmp_path: Path) -> None:
    given = {"how": "explain", "content": HELLO, "name": "t", "memory": 2**30}
    kind = replace(READ, kept=0.3)

    async def go() -> None:
        apart = Apart(Home(Settings.load({"NOETL_HOME": str(tmp_path)}), "", embedded=False))
        for _ in range(2):
            await asyncio.create_task(apart.done(Errand(kind, given, 60), never))
            assert len(errands()) == 1
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        assert (errands(), copies()) == ([], [])
        await asyncio.create_task(apart.done(Errand(kind, given, 60), never))
        await apart.close()
        assert (errands(), copies()) == ([], [])

    asyncio.run(go())


def test_others_are_answered_while_much_is_read(site: Site) -> None:
    worst = 0.0
    body = {"content": chain(1_000), "format": "png"}

    with ThreadPoolExecutor(READ.most + 2) as many:
        answers = [
            many.submit(httpx.post, f"{site.url}/api/graph", json=body, timeout=100)
            for _ in range(READ.most + 2)
        ]
        while not all(one.done() for one in answers):
            begun = time.monotonic()
            assert site.client.get("/health").status_code == 200
            worst = max(worst, time.monotonic() - begun)
            assert len(errands()) <= READ.most
            time.sleep(0.05)

    assert {one.result().status_code for one in answers} == {200}
    assert worst < 1.5


def test_twenty_thousand_steps_are_compiled(site: Site) -> None:
    answer = site.client.post("/api/compile", json={"content": chain(20_000)}, timeout=100)

    assert len(answer.json()["steps"]) == 20_004


def test_what_takes_too_long_ends_at_its_time(site: Site) -> None:
    body = {"content": chain(15_000), "format": "text", "seconds": 1}

    refused = site.post("/api/graph", body, 504)["error"]

    assert refused["message"] == "it took longer than 1 s"
    assert (errands(), copies()) == ([], [])


@pytest.mark.parametrize(
    ("how", "mebibytes"), [("compile", 5), ("draw", 20), ("draw", 110)], ids=str
)
def test_what_takes_too_much_of_the_memory_is_told_so(
    tmp_path: Path, how: str, mebibytes: int
) -> None:
    given = {
        "how": how,
        "content": chain(2_000),
        "name": "t",
        "format": "png",
        "ascii": False,
        "width": 100,
        "memory": mebibytes * 2**20,
    }

    async def answer() -> Response:
        apart = Apart(Home(Settings.load({"NOETL_HOME": str(tmp_path)}), "", embedded=False))
        try:
            return await asyncio.create_task(apart.done(Errand(READ, given, 60), never))
        except Fault as fault:
            return refused(fault)
        finally:
            await apart.close()

    told = asyncio.run(answer())

    assert told.status_code == 422
    assert json.loads(bytes(told.body))["error"]["code"] == "too-large"


@pytest.fixture
def crowded(site: Site) -> Iterator[tuple[Site, dict[str, Any]]]:
    """A server at which as many read as may at once, and a body that takes its time."""
    slow = {"content": chain(15_000), "format": "text", "seconds": 60}
    lines = [_sent(site, "/api/graph", slow) for _ in range(READ.most)]
    until(lambda: len(errands()) == READ.most)
    yield site, slow
    for line in lines:
        line.close()


def _sent(site: Site, path: str, body: Any) -> socket.socket:
    """Send a request and leave its answer on the way."""
    raw, url = json.dumps(body).encode(), httpx.URL(site.url)
    line = socket.create_connection((url.host, url.port or 80))
    head = f"POST {path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\n"
    kind = f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    line.sendall((head + kind).encode() + raw)
    return line


def test_one_too_many_waits_for_his_turn_and_gets_it(crowded: tuple[Site, dict[str, Any]]) -> None:
    site, _ = crowded
    answers: list[int] = []
    thread = threading.Thread(
        target=lambda: answers.append(
            httpx.post(f"{site.url}/api/validate", json={"content": HELLO}, timeout=60).status_code
        )
    )
    thread.start()
    time.sleep(0.5)

    waited = list(answers)
    os.kill(errands()[0], 9)
    thread.join()

    assert (waited, answers) == ([], [200])


def test_far_too_many_are_refused_and_those_who_leave_give_their_turns_back(
    crowded: tuple[Site, dict[str, Any]],
) -> None:
    site, _ = crowded
    body = {"content": HELLO}
    lines = [_sent(site, "/api/validate", body) for _ in range(READ.waiting)]
    time.sleep(0.5)

    refused = site.post("/api/validate", body, 503)["error"]
    lines[0].close()
    time.sleep(0.2)
    again = _sent(site, "/api/validate", body)
    again.settimeout(0.5)
    with pytest.raises(TimeoutError):
        again.recv(1)
    for line in [*lines[1:], again]:
        line.close()

    assert refused["code"] == "busy"


def test_a_server_that_leaves_tells_those_who_wait(
    database: str,  # noqa: F811  # a fixture asks for it
    tmp_path: Path,
) -> None:
    slow = {"content": chain(15_000), "format": "text", "seconds": 60}
    with serving(database, tmp_path, drain=1) as site:
        lines = [_sent(site, "/api/graph", slow) for _ in range(READ.most + 1)]
        until(lambda: len(errands()) == READ.most)
        time.sleep(0.2)
    for line in lines:
        line.settimeout(5)
        assert line.recv(100).startswith(b"HTTP/1.1 503")
        line.close()

    assert (errands(), copies()) == ([], [])
