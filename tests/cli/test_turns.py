"""A resource, a tool and a turn at the command line, also with a worker that is killed."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.cli.test_model import A_REAL_MODEL, ROOT, served
from tests.cli.test_run import Person
from tests.worker.gateway import Gateway, calls, gateway, in_turn, text

PLAYBOOK = (ROOT / "playbooks" / "seed_turn.yaml").read_text()
"""A resource of Postgres, a tool over HTTP and a turn."""
KB = """
create table kb (id int, title text, body text, topic text);
insert into kb values (1, 'RC150', 'A wall of concrete.', 'walls'), (2, 'D1', 'A door.', 'doors');
"""
SAID = in_turn(calls(("search_docs", {"query": "rc"})), text("It is 150 mm."))


@pytest.fixture
def person(database: str, tmp_path: Path) -> Person:
    return Person(database, tmp_path)


def file(person: Person, made: Gateway) -> str:
    return written(person, made.url, searched_at=f"{made.url}/tool")


def written(person: Person, gateway_: str, *, searched_at: str, **changed: str) -> str:
    """The example, with a search that is there; also with other lines in place of some."""
    dsn = person.environment["NOETL_DSN"]
    with psycopg.connect(dsn) as connection:
        connection.execute(KB.encode())
    person.environment |= {
        "NOETL_SECRET_LLM_GATEWAY": gateway_,
        "NOETL_SECRET_PG_DSN": dsn,
        "NOETL_LEASE_SECONDS": "2",
    }
    text = PLAYBOOK
    for old, new in {"https://search/api": f"{searched_at}/search", **changed}.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return person.file(text)


def completed(person: Person, number: str) -> dict[str, int]:
    """How often each step was completed, as the log tells."""
    found: dict[str, int] = {}
    for one in person.does("events", number, "--json").json():
        if one["kind"] == "step_completed":
            name = one["step"] + ("" if one["item"] is None else f"[{one['item']}]")
            found[name] = found.get(name, 0) + 1
    return found


ONCE = {"kb_articles": 1, "t1.model.1": 1, "t1.tools.1": 1, "t1.model.2": 1, "t1": 1}


def test_a_resource_a_tool_and_a_turn_run_once_each(person: Person) -> None:
    with gateway(SAID) as made:
        ran = person.does("run", file(person, made), "--json")

        done = ran.json()
        assert (ran.code, done["result"]["content"]) == (0, "It is 150 mm.")
        kb = made.asked[0]["messages"][0]["content"]
        assert kb == '# kb_articles\n\n[{"id":1,"title":"RC150","body":"A wall of concrete."}]'
        assert made.tools == ["/tool/search?q=rc"]
    assert ONCE.items() <= completed(person, done["execution_id"]).items()


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


def test_a_worker_that_is_killed_while_a_tool_is_called_is_followed_by_another(
    person: Person,
) -> None:
    with gateway(SAID) as made:
        started = person.does("run", file(person, made), "--detach", "--json").json()
        number = started["execution_id"]
        made.tool_seconds = 2.0
        first = person.begins("worker", "--processes", "1", start_new_session=True)
        until(lambda: made.tools_begun > 0)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        made.tool_seconds = 0.0

        assert person.does("worker", "--processes", "1", "--drain").code == 0

        assert len(made.asked) == 2
        assert set(made.tools) == {"/tool/search?q=rc"}
    done = person.does("show", number, "--json").json()
    assert (done["status"], done["result"]["content"]) == ("completed", "It is 150 mm.")
    assert ONCE.items() <= completed(person, number).items()


@contextmanager
def nobody_gets_in() -> Iterator[int]:
    """A port at which connections neither stand nor fail."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(door.getsockname())
        yield door.getsockname()[1]
        for one in waiting:
            one.close()


def test_a_worker_that_is_killed_between_the_answer_and_the_call_is_followed_by_another(
    person: Person,
) -> None:
    """What the model said is not asked for again, and the tool is called once."""
    with gateway(SAID) as made:
        with nobody_gets_in() as port:
            path = written(person, made.url, searched_at=f"http://127.0.0.1:{port}/tool")
            number = person.does("run", path, "--detach", "--json").json()["execution_id"]
            first = person.begins("worker", "--processes", "1", start_new_session=True)
            until(lambda: completed(person, number).get("t1.model.1") == 1)
            os.killpg(first.pid, signal.SIGKILL)
            first.communicate()
        assert "t1.tools.1" not in completed(person, number)

        with gateway(SAID, port) as search:
            assert person.does("worker", "--processes", "1", "--drain").code == 0

        assert (len(made.asked), search.tools) == (2, ["/tool/search?q=rc"])
    done = person.does("show", number, "--json").json()
    assert (done["status"], done["result"]["content"]) == ("completed", "It is 150 mm.")
    assert ONCE.items() <= completed(person, number).items()


@pytest.mark.slow
@A_REAL_MODEL
def test_the_same_playbook_has_a_real_model_answer_and_call_the_tool(person: Person) -> None:
    """It is held to a schema and told to ask, for it is too small to think of that by itself."""
    with gateway(SAID) as made, served(person.folder / "model") as endpoint:
        ran = person.does(
            "run",
            written(
                person,
                made.url,
                searched_at=f"{made.url}/tool",
                **{
                    "        temperature: 0.2\n": "        {temperature: 0, max_tokens: 120}\n"
                    f"      adapter: openai\n      endpoint: {endpoint}\n"
                    "      tool_calls: schema\n",
                    "    - name: search_docs\n": "    - name: search_docs\n      input_schema:"
                    " {type: object, properties: {query: {type: string, maxLength: 40}},"
                    " required: [query], additionalProperties: false}\n",
                    "key points?": "key points? Ask for the tool search_docs first.",
                    "?q={{ input.query }}": "?q={{ input.query | urlencode }}",
                },
            ),
            "--json",
        )

    done = ran.json()
    assert ran.code == 0, done["error"]
    assert done["result"]["content"]
    assert [one["name"] for one in done["result"]["tool_calls"]][:1] == ["search_docs"]
    assert len(made.tools) == len(done["result"]["tool_calls"])
    assert made.asked == []
    assert "RC150" in json.dumps(done["result"]["messages"])
