"""A resource, a tool and a turn at the command line, also with a worker that is killed."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_run import Person
from tests.worker.gateway import Gateway, calls, gateway, in_turn, text

PLAYBOOK = """
apiVersion: noetl.io/v1
kind: Playbook
metadata: {name: seed, path: tests/seed}
workload: {topic: walls}
mcp:
  models:
    - {name: gpt-4o, provider: openai, params: {temperature: 0.2}}
  tools:
    - name: search_docs
      type: http
      spec:
        method: GET
        url: URL/tool/search?q={{ input.query }}
  resources:
    - name: kb_articles
      type: postgres
      spec:
        dsn: {{ secrets.pg_dsn }}
        sql: SELECT 1 AS id, {{ input.topic }} AS title
  turns:
    - name: t1
      model: gpt-4o
      system: You are a helpful assistant.
      user:
        - use: resource:kb_articles
        - text: "What are key points?"
      tools_allowed: [search_docs]
      save: { storage: event_log }
"""
SAID = in_turn(calls(("search_docs", {"query": "rc"})), text("It is 150 mm."))


@pytest.fixture
def person(database: str, tmp_path: Path) -> Person:
    return Person(database, tmp_path)


def file(person: Person, made: Gateway) -> str:
    person.environment |= {
        "NOETL_SECRET_LLM_GATEWAY": made.url,
        "NOETL_SECRET_PG_DSN": person.environment["NOETL_DSN"],
        "NOETL_LEASE_SECONDS": "2",
    }
    return person.file(PLAYBOOK.replace("URL", made.url))


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
        assert '"title":"walls"' in made.asked[0]["messages"][0]["content"]
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
