"""Whoever let go of an execution comes back to it; each round is told once."""

import json

from tests.cli.test_run import HEAD, HELLO, Person, person  # noqa: F401  # a fixture
from tests.faults.judge import Judge

ROUNDS = HEAD + (
    "workflow:\n  - {step: start, next: [good]}\n"
    "  - step: good\n    type: python\n    code: |\n      def main():\n"
    "          print('said once')\n    next: [bad]\n"
    "  - step: bad\n    type: python\n    code: |\n      def main():\n"
    "          raise ValueError('too bad')\n    next: [end]\n  - {step: end}\n"
)
DATED = HEAD + (
    "workflow:\n  - {step: start, next: [ask]}\n"
    "  - {step: ask, type: approve, approve: {who: lead, message: may I}, next: [end]}\n"
    "  - {step: end, result: 1}\n"
)

DOUBTFUL = HEAD + (
    "workflow:\n  - {step: start, next: [post]}\n"
    "  - {step: post, type: http, method: POST, url: 'URL', confirm: true, next: [end]}\n"
    "  - {step: end, result: 1}\n"
)


def test_an_execution_is_watched_to_its_end_and_worked_on_here(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    person.does("run", person.file(HELLO), "--detach")

    watched = person.does("watch", "1")
    again = person.does("watch", "1", "--json")

    assert (watched.code, json.loads(watched.out)) == (0, {"n": 42, "s": "007"})
    assert "done      a" in watched.err
    assert again.json()["status"] == "completed"
    assert person.does("watch", "77").code == 1


def test_a_retry_tells_nothing_of_earlier_rounds(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    first = person.does("run", person.file(ROUNDS))
    retried = person.does("retry", "1", "--wait")

    assert "said once" in first.err
    assert "said once" not in retried.err
    assert "done      good" not in retried.err
    assert "failed    bad" in retried.err
    bars = [line for line in retried.err.splitlines() if line.endswith("|")]
    assert [line.split()[0] for line in bars] == ["bad"]


def test_who_decides_while_no_worker_is_up_is_told_how_it_goes_on(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    person.does("run", person.file(ROUNDS))
    watch = "do it here with: noetl-mcp watch"

    retried = person.does("retry", "1")
    twice = person.does("retry", "1", "--wait")
    again = person.does("rerun", "1")

    assert f"{watch} 1" in retried.err
    assert "see it go on: noetl-mcp watch 1" in twice.err
    assert f"{watch} 2" in again.err
    assert person.does("pause", "2").code == 0
    assert f"{watch} 2" in person.does("resume", "2").err


def test_what_was_answered_is_asked_no_more(person: Person) -> None:  # noqa: F811  # a fixture
    person.does("run", person.file(DATED), "--detach")
    person.does("worker", "--drain", "--processes", "1")
    person.does("approve", "1", "ask")

    watched = person.does("watch", "1")

    assert watched.code == 0
    assert "may I" not in watched.err


def test_what_was_accepted_is_no_second_attempt(person: Person) -> None:  # noqa: F811  # a fixture
    with Judge() as judge:
        url = f"{judge.url}/w/1/post/?lose=1"
        person.does("run", person.file(DOUBTFUL.replace("URL", url)), "--detach")
        person.does("worker", "--drain", "--processes", "1")
    accepted = person.does("resolve", "1", "post", "--accept", "1", "--reason", "seen")

    watched = person.does("watch", "1")

    assert accepted.code == 0, accepted.err
    assert watched.code == 0
    assert "says that it was done: seen" in watched.err
    assert "2 attempts" not in watched.err
