"""What a playbook means, asked over the web: the same as the command line says, and as safely."""

import asyncio
import json
import os
import re
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
from xml.etree import ElementTree

import httpx
import pytest
from click.testing import CliRunner
from starlette.responses import Response

from noetl_mcp.assembly import Home
from noetl_mcp.cli.main import COMMANDS, commands
from noetl_mcp.settings import Settings
from noetl_mcp.web.apart import Apart, Errand
from noetl_mcp.web.faults import Fault, refused
from noetl_mcp.web.guard import Policy
from noetl_mcp.web.reading import READ
from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.web.site import HEAD, HELLO, Site, serving
from tests.web.test_trying import copies, errands, until

ROOT = Path(__file__).parent.parent.parent
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yaml"))
OLD = sorted((ROOT / "tests" / "dialects").glob("*.yaml"))[::4]
WRONG = sorted((ROOT / "tests" / "rules").glob("*[!t].yaml"))
PAGE = ROOT / "docs" / "reference" / "api.md"
READING = ("validate", "compile", "explain", "graph", "migrate")


def said(*arguments: str, text: str = "", code: int = 0) -> bytes:
    """Return what a command prints about a text."""
    runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"})
    ran = runner.invoke(commands, [*arguments], input=text)
    assert ran.exit_code == code, ran.output
    return ran.stdout_bytes


def placeless(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return findings without the name of the file, which only the command knows."""
    return [{key: one[key] for key in one if key != "file"} for one in found]


async def never() -> None:
    """Do not leave."""
    await asyncio.Event().wait()


def chain(length: int) -> str:
    """Return a playbook of so many steps, one behind the other."""
    steps = "".join(
        f"  - {{step: s{n}, type: http, url: 'http://x/{n}', next: [s{n + 1}]}}\n"
        for n in range(length)
    )
    ends = f"  - {{step: s{length}, next: [end]}}\n  - {{step: end}}\n"
    return f"{HEAD}workflow:\n  - {{step: start, next: [s0]}}\n{steps}{ends}"


@pytest.mark.parametrize("file", [*PLAYBOOKS, *OLD], ids=lambda file: str(file.stem))
def test_a_playbook_means_the_same_on_the_command_line(site: Site, file: Path) -> None:
    text = file.read_text()
    body = {"content": text}

    plan = site.post("/api/compile", body)
    explained = site.client.post("/api/explain", json=body)
    migrated = site.post("/api/migrate", body)
    drawn = {
        form: site.client.post("/api/graph", json={**body, "format": form}).content
        for form in ("mermaid", "text", "svg", "png")
    }

    assert plan == json.loads(said("compile", "-", text=text))
    assert site.post("/api/catalog", body, 201)["digest"] == plan["digest"]
    assert explained.content == said("explain", "-", text=text)
    assert migrated["content"].encode() == said("migrate", "-", text=text)
    for form, picture in drawn.items():
        assert picture == said("graph", "-", "--format", form, text=text), form


@pytest.mark.parametrize("file", [*PLAYBOOKS, *WRONG[::5]], ids=lambda file: str(file.stem))
def test_a_playbook_is_found_fault_with_as_on_the_command_line(site: Site, file: Path) -> None:
    text = file.read_text()
    broken = text.replace("type: ", "typ: ").replace("next: [", "next: [no_")

    for one in (text, broken):
        found = site.post("/api/validate", {"content": one})
        runner = CliRunner().invoke(commands, ["validate", "--json", "-"], input=one)

        assert placeless(found["diagnostics"]) == placeless(json.loads(runner.stdout))
        assert found["valid"] == (runner.exit_code == 0)


def test_what_the_v2_form_has_no_place_for_is_told(site: Site) -> None:
    text = HELLO.replace("metadata:", "keychain: [{name: a, kind: b}]\nmetadata:")

    migrated = site.post("/api/migrate", {"content": text})
    runner = CliRunner().invoke(commands, ["migrate", "-"], input=text)

    assert migrated["content"] == runner.stdout
    (lost,) = migrated["lost"]
    assert (lost["name"], lost["line"]) == ("keychain-not-read", 3)
    assert lost["message"] in runner.stderr


@pytest.mark.parametrize("how", ["compile", "explain", "graph", "migrate"])
def test_what_does_not_compile_is_told_with_its_places(site: Site, how: str) -> None:
    text = HELLO.replace("next: [end]", "next: [ende]")

    error = site.post(f"/api/{how}", {"content": text}, 422)["error"]

    assert error["code"] == "wrong-playbook"
    one = next(one for one in error["diagnostics"] if one["suggestion"] == "end")
    assert (one["code"][:2], one["line"], one["severity"]) == ("NP", 7, "error")
    assert one["message"]
    assert one["help"]
    assert one["column"] > 1


def test_a_warning_counts_when_it_is_asked_for(site: Site) -> None:
    text = HELLO.replace("for: '0.01s'", "for: '{{ workload.n }}s'").replace(
        "next: [a]", "next: [a, a]"
    )

    lenient = site.post("/api/validate", {"content": text})
    strict = site.post("/api/validate", {"content": text, "strict": True})

    assert [one["severity"] for one in lenient["diagnostics"]] != []
    assert (lenient["valid"], strict["valid"]) == (True, False)
    assert lenient["diagnostics"] == strict["diagnostics"]


def test_a_playbook_of_the_catalog_is_read_in_the_version_that_is_asked_for(site: Site) -> None:
    first = site.post("/api/catalog", {"content": HELLO}, 201)["digest"]
    second = site.post("/api/catalog", {"content": HELLO.replace("n: 1", "n: 2")}, 201)["digest"]

    assert site.post("/api/compile", {"path": "tests/t"})["digest"] == second
    assert site.post("/api/compile", {"path": "tests/t", "version": 1})["digest"] == first
    assert site.post("/api/validate", {"path": "tests/t"})["valid"]
    missing = site.post("/api/explain", {"path": "tests/t", "version": 3}, 404)["error"]
    assert missing["allowed"] == ["2", "1"]


@pytest.mark.parametrize(
    ("form", "kind", "begins"),
    [
        ("text", "text/plain; charset=utf-8", b"t\n"),
        ("mermaid", "text/plain; charset=utf-8", b"flowchart TD\n"),
        ("svg", "image/svg+xml", b"<svg "),
        ("png", "image/png", b"\x89PNG"),
    ],
)
def test_a_picture_has_its_type(site: Site, form: str, kind: str, begins: bytes) -> None:
    answer = site.client.post("/api/graph", json={"content": HELLO, "format": form})

    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.content.startswith(begins)
    if kind.startswith("image/"):
        assert answer.headers["content-disposition"] == f'attachment; filename="graph.{form}"'
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_words_of_a_playbook_do_nothing_in_a_picture(site: Site) -> None:
    evil = "</text></title><script>alert(1)</script><image href=x />&x;]]>"
    text = (
        HEAD.replace("name: t,", f"name: {json.dumps(evil)},")
        + "workload: {n: 1}\nworkflow:\n  - step: start\n    next:\n"
        + f"      - {{step: end, when: {json.dumps('{{ workload.n == ' + repr(evil) + ' }}')}}}\n"
        + "      - {step: other}\n  - {step: other, next: [end]}\n  - {step: end}\n"
    )

    answer = site.client.post("/api/graph", json={"content": text, "format": "svg"})

    assert answer.status_code == 200, answer.text
    assert "&lt;script" in answer.text
    tags = {one.tag.rpartition("}")[2] for one in ElementTree.fromstring(answer.text).iter()}
    assert not tags & {"script", "image", "a", "use", "foreignObject"}


def test_a_text_can_be_drawn_narrow_and_in_ascii(site: Site) -> None:
    body = {"content": chain(60), "format": "text", "width": 40, "ascii": True}

    text = site.client.post("/api/graph", json=body).text

    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 40


@pytest.mark.parametrize("how", READING)
@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 400, "'path' is needed"),
        ({"content": 7}, 400, "'content' must be a text"),
        ({"content": HELLO, "path": "a"}, 400, "leave 'path' out"),
        ({"path": "no/such"}, 404, "'no/such' is not in the catalog"),
        ({"path": "/etc/passwd"}, 404, "is not in the catalog"),
        ({"path": "a", "version": 0}, 400, "'version' must be"),
        ({"content": HELLO, "file": "x.yaml"}, 400, "there is no field 'file'"),
        ({"content": HELLO, "seconds": 601}, 400, "'seconds' must be"),
        ({"content": "a\0b"}, 400, "NUL"),
        ([HELLO], 400, "must be a JSON object"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    site: Site, how: str, body: Any, status: int, says: str
) -> None:
    answer = site.client.post(f"/api/{how}", json=body)

    assert answer.status_code == status, answer.text
    assert says in answer.text


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


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"format": "pdf"}, "'format' says what to draw"),
        ({"format": ["svg"]}, "'format' says what to draw"),
        ({"width": 0}, "'width' must be a whole number of 20 to 1000"),
        ({"width": 1e9}, "'width' must be a whole number"),
        ({"ascii": "perhaps"}, "'ascii' must be true or false"),
        ({"strict": True}, "there is no field 'strict'"),
    ],
)
def test_a_picture_that_cannot_be_meant_is_refused(
    site: Site, more: dict[str, Any], says: str
) -> None:
    answer = site.client.post("/api/graph", json={"content": HELLO, **more})

    assert answer.status_code == 400
    assert says in answer.text


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


def test_the_rules_are_those_of_the_command(site: Site) -> None:
    listed = site.get("/api/rules")
    one = site.get("/api/rules/unknown-tool")
    missing = site.client.get("/api/rules/unknown-tol")

    assert listed == json.loads(said("rules", "--json"))
    assert one["page"].encode() == said("explain", "unknown-tool")
    assert {key: one[key] for key in one if key != "page"} in listed
    assert site.get("/api/rules/np201") == one
    assert missing.status_code == 404
    assert "did you mean 'unknown-tool'?" in missing.text
    assert site.client.get("/api/rules/..%2f..%2fREADME").status_code == 404


@pytest.mark.parametrize("name", ["playbook", "plan", "diagnostics"])
def test_a_schema_is_that_of_the_command(site: Site, name: str) -> None:
    assert site.client.get(f"/api/schemas/{name}").content == said("schema", name)


def test_a_schema_that_is_not_there_is_told_with_those_that_are(site: Site) -> None:
    answer = site.client.get("/api/schemas/catalog")

    assert answer.status_code == 404
    assert answer.json()["error"]["allowed"] == ["playbook", "plan", "diagnostics"]


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
    body = {"content": chain(4_000), "format": "png"}

    answer = site.client.post("/api/graph", json=body, timeout=100)

    assert answer.status_code == 200
    assert (errands(), copies()) == ([], [])


def test_a_process_waits_only_a_moment(tmp_path: Path) -> None:
    given = {"how": "explain", "content": HELLO, "name": "t", "memory": 2**30}
    kind = replace(READ, kept=0.3)

    async def go() -> None:
        apart = Apart(Home(Settings.load({"NOETL_HOME": str(tmp_path)}), "", embedded=False))
        for _ in range(2):
            await apart.done(Errand(kind, given, 60), never)
            assert len(errands()) == 1
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        assert (errands(), copies()) == ([], [])
        await apart.done(Errand(kind, given, 60), never)
        await apart.close()
        assert (errands(), copies()) == ([], [])

    asyncio.run(go())


def test_others_are_answered_while_much_is_read(site: Site) -> None:
    worst = 0.0
    body = {"content": chain(2_000), "format": "png"}

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


@pytest.mark.parametrize("how", READING)
def test_a_text_that_would_grow_is_refused(site: Site, how: str) -> None:
    grows = "\n".join(
        f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10 if n else ['1'] * 10)}]" for n in range(12)
    )
    text = HELLO.replace("workload: {n: 1}", f"workload:\n  n: 1\n{grows}")

    answer = site.client.post(f"/api/{how}", json={"content": text})

    found = answer.json()
    assert answer.status_code == (200 if how == "validate" else 422)
    findings = found["diagnostics"] if how == "validate" else found["error"]["diagnostics"]
    assert findings[0]["name"] == "too-many-aliases"


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
            return await apart.done(Errand(READ, given, 60), never)
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
    with serving(database, tmp_path) as site:
        lines = [_sent(site, "/api/graph", slow) for _ in range(READ.most + 1)]
        until(lambda: len(errands()) == READ.most)
        time.sleep(0.2)
    for line in lines:
        line.settimeout(5)
        assert line.recv(100).startswith(b"HTTP/1.1 503")
        line.close()

    assert (errands(), copies()) == ([], [])


def test_the_page_shows_what_is_answered(site: Site) -> None:
    asked, told = re.findall(r"validate .* -d '(.*)'\n```\n\n```json\n(.*)\n", PAGE.read_text())[0]

    assert site.post("/api/validate", json.loads(asked)) == json.loads(told)


def test_every_command_has_its_place_in_the_api_or_says_why_not() -> None:
    page = PAGE.read_text()
    table = page[page.index("| command | here |") :].partition("\n\n")[0]

    told = [
        name for line in table.splitlines() for name in re.findall("`(.+?)`", line.split("|")[1])
    ]

    assert sorted(told) == sorted(COMMANDS)
