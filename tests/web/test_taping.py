"""Executions are recorded and played back over the web, as on the command line."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from noetl_mcp.broker.show import shown
from noetl_mcp.database import connect
from tests.cli.commands import noetl
from tests.cli.test_cassettes import ORDER, READS, SECRET
from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.web.site import HELLO, Site, serving
from tests.web.test_trying import copies, errands, left_behind, until
from tests.worker.gateway import Gateway, gateway, in_turn, text

RECORD, PLAY = "/api/executions/record", "/api/executions/play-back"
WAITING = HELLO.replace("'0.01s'", "'1h'")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    monkeypatch.setenv("NOETL_SECRET_KEY", SECRET)
    with gateway(in_turn(text("nothing"))) as made:
        yield made


def statuses(site: Site) -> list[str]:
    return [one["status"] for one in site.get("/api/executions")]


def state(site: Site, number: int, step: str) -> Any:
    return site.get(f"/api/executions/{number}/steps/{step}")["state"]


def command(site: Site, *arguments: str | Path) -> Any:
    """Return what a command prints as JSON, at the same installation."""
    home, dsn = str(site.home.settings.home), site.home.dsn
    return noetl("run", *arguments, "--json", NOETL_HOME=home, NOETL_DSN=dsn).json()


def test_reads_are_recorded_and_played_back_without_the_server_and_its_secret(
    site: Site, world: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"content": READS.replace("URL", world.url), "payload": {"n": 2}}

    recorded = site.post(RECORD, body)
    asked = len(world.called)
    monkeypatch.delenv("NOETL_SECRET_KEY")
    played = site.post(PLAY, {"path": "tests/t", "cassette": recorded["cassette"]})

    assert (recorded["status"], recorded["result"]) == ("completed", {"n": 4})
    assert recorded["recorded_calls"] == asked == 2
    assert SECRET not in json.dumps(recorded)
    assert (played["status"], played["result"], played["drift"]) == ("completed", {"n": 4}, [])
    assert len(world.called) == asked
    assert (errands(), copies()) == ([], [])


def test_what_is_recorded_here_is_played_back_by_the_command_and_the_other_way_round(
    site: Site, world: Gateway, tmp_path: Path
) -> None:
    file, tape = tmp_path / "t.yaml", tmp_path / "tape.jsonl"
    file.write_text(ORDER.replace("URL", world.url))

    here = site.post(RECORD, {"content": file.read_text()})
    tape.write_text(here["cassette"])
    played_there = command(site, file, "--play-back", tape)
    there = command(site, file, "--record-to", tape)
    played_here = site.post(PLAY, {"path": "tests/t", "cassette": tape.read_text()})

    assert set(here) - {"cassette"} == set(there) - {"recorded_to"}
    assert set(played_here) == set(played_there) - {"played_back"}
    assert played_there["result"] == here["result"]
    assert played_here["result"] == there["result"]
    assert (played_there["drift"], played_here["drift"]) == ([], [])


def test_drift_is_told_as_by_the_command(site: Site, world: Gateway, tmp_path: Path) -> None:
    file, tape = tmp_path / "t.yaml", tmp_path / "tape.jsonl"
    file.write_text(ORDER.replace("URL", world.url))
    tape.write_text(site.post(RECORD, {"content": file.read_text()})["cassette"])

    here = site.post(PLAY, {"path": "tests/t", "cassette": tape.read_text(), "set": ["number=B"]})
    there = command(site, file, "--play-back", tape, "--set", "number=B")

    assert here["drift"] == there["drift"]
    assert here["drift"][0]["fields"][0]["now"] == "B"
    assert len(world.called) == 1


def test_long_answers_stand_in_the_cassette_itself(site: Site, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    content = HELLO.replace(
        "type: wait, wait: {for: '0.01s'}",
        "type: duckdb, sql: \"select repeat('x', 100000) as long\"",
    )

    recorded = site.post(RECORD, {"content": content})
    played = site.post(PLAY, {"content": content, "cassette": recorded["cassette"]})

    assert len(recorded["cassette"]) > 100_000
    assert played["drift"] == []


HEADED = '{"cassette": 1}\n'


def _given(value: Any) -> str:
    """Return a cassette that was started with a value."""
    return json.dumps({"cassette": 1, "given": value}) + "\n"


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        (PLAY, {"content": HELLO}, 400, "'cassette' is needed"),
        (PLAY, {"content": HELLO, "cassette": 7}, 400, "'cassette' must be a text"),
        (PLAY, {"content": HELLO, "cassette": "tape"}, 422, "its first line is no head"),
        (PLAY, {"content": HELLO, "cassette": "/etc/passwd"}, 422, "is not a cassette"),
        (PLAY, {"content": HELLO, "cassette": '{"cassette": 9}'}, 422, "of form 9"),
        (PLAY, {"content": HELLO, "cassette": HEADED + "7\n7\n"}, 422, "line 2 of the cassette"),
        (PLAY, {"content": HELLO, "cassette": _given({"payload": [1]})}, 422, "in its head"),
        (PLAY, {"content": HELLO, "cassette": _given({"sets": [1]})}, 422, "in its head"),
        (PLAY, {"content": HELLO, "cassette": _given([])}, 422, "in its head"),
        (PLAY, {"content": HELLO, "cassette": _given({"sets": ["n"]})}, 422, "NAME=VALUE"),
        (PLAY, {"content": HELLO, "cassette": _given({"payload": {"m": 1}})}, 422, "unknown-name"),
        (PLAY, {"content": HELLO, "cassette": _given({"payload": {"n": "\0"}})}, 422, "payload"),
        (PLAY, {"content": HELLO, "cassette": HEADED + '{"end": {"secrets": 7}}'}, 422, "the end"),
        (PLAY, {"content": HELLO, "cassette": HEADED, "on_end": "http://a/"}, 400, "'on_end'"),
        (PLAY, {"path": "no/such", "cassette": HEADED}, 404, "is not in the catalog"),
        (RECORD, {"content": HELLO, "priority": 3}, 400, "there is no field 'priority'"),
        (RECORD, {"content": HELLO, "record_to": "/tmp/x"}, 400, "no field 'record_to'"),
        (RECORD, {"content": HELLO, "seconds": 0}, 400, "'seconds' must be"),
        (RECORD, {"content": HELLO, "payload": {"m": 1}}, 422, "unknown-name"),
        (RECORD, {"content": "workflow: ["}, 422, "does not compile"),
        (RECORD, {}, 400, "'path' is needed"),
    ],
)
def test_what_cannot_be_meant_starts_nothing(
    site: Site, path: str, body: Any, status: int, says: str
) -> None:
    answer = site.client.post(path, json=body)

    assert answer.status_code == status, answer.text
    assert says in answer.text
    assert statuses(site) == []
    assert (errands(), copies()) == ([], [])


def test_no_file_of_the_server_is_read_as_a_part_of_a_cassette(site: Site, tmp_path: Path) -> None:
    line = {"step": "a", "call": 1, "task": "http", "asked": {}}
    for part in ("../../etc/passwd", str(tmp_path / "x.json"), f"{'0' * 64}.json"):
        tape = HEADED + json.dumps({**line, "came_in": part}) + "\n"

        refused = site.post(PLAY, {"content": HELLO, "cassette": tape}, 422)["error"]

        assert refused["message"].startswith("line 2 of the cassette is not a call")


def test_a_key_that_is_taken_is_not_recorded(site: Site) -> None:
    number = site.start(HELLO, key="k")

    refused = site.post(RECORD, {"content": HELLO, "key": "k"}, 409)["error"]

    assert f"execution {number} has this key" in refused["message"]
    assert statuses(site) == ["running"]


def test_what_takes_too_long_is_cancelled_and_told(site: Site) -> None:
    refused = site.post(RECORD, {"content": WAITING, "seconds": 1}, 504)["error"]

    assert refused["code"] == "too-slow"
    assert site.get(f"/api/executions/{refused['execution_id']}")["status"] == "cancelled"
    assert (errands(), copies()) == ([], [])


def test_an_execution_whose_client_leaves_is_cancelled(site: Site) -> None:
    with left_behind(site, RECORD, {"content": WAITING}):
        until(lambda: statuses(site) == ["running"])

    until(lambda: statuses(site) == ["cancelled"])
    until(lambda: not errands() and not copies())


def test_an_execution_whose_server_leaves_is_cancelled(
    database: str,  # noqa: F811  # a fixture asks for it
    tmp_path: Path,
) -> None:
    answers: list[httpx.Response] = []

    with serving(database, tmp_path, drain=1) as site:
        url = site.url + RECORD
        thread = threading.Thread(
            target=lambda: answers.append(httpx.post(url, json={"content": WAITING}, timeout=60))
        )
        thread.start()
        until(lambda: statuses(site) == ["running"])
        number = int(site.get("/api/executions")[0]["execution_id"])
        until(lambda: state(site, number, "a") == "parked")
    thread.join()

    assert answers[0].json()["error"]["code"] == "leaving"
    with connect(database, application_name="look") as connection:
        assert shown(connection, number)["status"] == "cancelled"
    assert (errands(), copies()) == ([], [])


def test_recording_is_for_operators(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.token('v', 'viewer')}"}

    for path in (RECORD, PLAY):
        answer = site.client.post(path, json={"content": HELLO}, headers=headers)
        assert answer.status_code == 403


def test_who_asked_is_written_down(site: Site) -> None:
    recorded = site.post(RECORD, {"content": HELLO})
    site.post(PLAY, {"content": HELLO, "cassette": recorded["cassette"]})

    with connect(site.home.dsn, application_name="audit") as connection:
        rows = connection.execute(
            "select who, whence, action, outcome from noetl.audit order by id"
        ).fetchall()
    assert rows == [("local", "web", "record", "done"), ("local", "web", "play-back", "done")]
