"""A failure is told with what a person needs, and with what can help."""

import json
from typing import Any

import pytest

from noetl_mcp.cli.columns import folded
from noetl_mcp.cli.failing import details_of, next_of
from tests.cli.test_run import FAILING, HEAD, Person, person  # noqa: F401  # a fixture


def test_a_program_that_fails_is_told_with_its_line(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    ran = person.does("run", person.file(FAILING))
    shown, step = person.does("show", "1"), person.does("show", "1", "bad")

    for text in (ran.err, shown.out, step.out):
        assert "line 3, in main\n" in text
        assert "    raise ValueError('too bad')" in text
    assert step.out.count("too bad") == 2


def test_what_a_server_answered_is_told_but_not_all_of_it() -> None:
    (line,) = details_of({"details": {"status_code": 404, "body": {"detail": "no\nsuch" * 100}}})

    assert line.startswith('the server answered: {"detail":"no')
    assert len(line) < 230
    assert details_of({"details": {"body": ""}}) == details_of({}) == []


def test_what_a_model_said_instead_is_told() -> None:
    error = {"code": "wrong-output", "details": {"content": "It is\n900 mm."}}

    assert details_of(error) == ["the model said: It is 900 mm."]


@pytest.mark.parametrize(
    "code", ["impossible-bounds", "unconfirmed", "no-such-task", "not-json", "bad-code"]
)
def test_a_retry_is_not_proposed_where_it_must_fail_again(code: str) -> None:
    said = " ".join(next_of(7, {"code": code, "step": "a"}))

    assert "retry" not in said
    assert "noetl-mcp run FILE" in said
    assert "noetl-mcp rerun 7 --wait --set NAME=VALUE" in said


def test_what_was_started_read_only_is_started_anew() -> None:
    (said,) = next_of(7, {"code": "read-only", "step": "a"})

    assert said.endswith("start it anew with: noetl-mcp run FILE")
    assert "noetl-mcp retry" not in said


def test_an_answer_that_would_only_be_judged_again_is_asked_for_anew() -> None:
    (said,) = next_of(7, {"code": "assert", "step": "a"})

    assert said.endswith("noetl-mcp retry 7 --wait --from a")
    assert next_of(7, {"code": "http-status", "step": "a"}) == [
        "try again from there with: noetl-mcp retry 7 --wait"
    ]


@pytest.mark.parametrize("code", ["not-given", "credential", "no-model", "shell-not-allowed"])
def test_what_is_missing_around_a_playbook_is_provided_and_then_it_goes_on(code: str) -> None:
    (said,) = next_of(7, {"code": code, "step": "a"})

    assert said == "when that is provided for, go on with: noetl-mcp retry 7 --wait"


@pytest.mark.parametrize(
    "error",
    [
        {"code": "name-error", "details": {"traceback": "line 3, in main"}},
        {"code": "items-failed", "details": {"errors": [{"index": 0, "code": "type-error"}]}},
        {"code": "duckdb-binder"},
        {"code": "postgres-42703"},
    ],
)
def test_a_program_that_broke_may_want_another_playbook(error: dict[str, Any]) -> None:
    retry, corrected = next_of(7, error)

    assert retry.endswith("noetl-mcp retry 7 --wait")
    assert corrected == "or correct the playbook, then: noetl-mcp run FILE"


def test_a_play_back_that_lacks_a_call_is_not_to_be_retried() -> None:
    (said,) = next_of(7, {"code": "not-recorded", "step": "a"})

    assert said == "a play back gives what was recorded; record it anew with --record-to"


SECRET = HEAD + (
    "workflow:\n  - step: start\n    type: set\n"
    "    values: {is_test: \"{{ secrets.mode == 'test' }}\"}\n"
)


def test_a_secret_that_is_not_there_is_told_with_the_variable_to_set(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    ran = person.does("run", person.file(SECRET))
    dry = person.does("run", person.file(SECRET), "--dry-run")
    person.environment["NOETL_SECRET_MODE"] = "test"
    again = person.does("retry", "1", "--wait")

    told = "no 'mode' among the secrets; set NOETL_SECRET_MODE where the worker is started"
    assert f"{told} [not-given]\n" in ran.err
    assert "go on with: noetl-mcp retry 1 --wait\n" in ran.err
    assert told in " ".join(dry.err.split())
    assert json.loads(again.out) == {"is_test": True}


LONG = HEAD + (
    "workflow:\n  - step: start\n    type: python\n    code: |\n"
    "      def main():\n          raise ValueError('one\\ntwo')\n"
)


def test_the_code_of_a_failure_stands_behind_its_first_line(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    ran = person.does("run", person.file(LONG))

    assert "step 'start' failed: ValueError: one [value-error]\n  two\n" in ran.err
    assert "value-error: ValueError: one …\n" in ran.err


def test_a_command_begins_a_line_of_its_own_where_the_sentence_is_too_long() -> None:
    text = f"it waits ({'x ' * 30}); answer with: noetl-mcp approve 7 'each[1]', or with --reject"

    lines = folded(text, 60, "  ")

    assert lines[-1] == "  noetl-mcp approve 7 'each[1]', or with --reject"
    assert max(map(len, lines)) <= 60
    assert folded("short: noetl-mcp why 7", 60) == ["short: noetl-mcp why 7"]


ITEMS = HEAD + (
    "workflow:\n  - {step: start, next: [each]}\n"
    "  - step: each\n    type: iterator\n    collection: [1, 0]\n    element: x\n"
    "    task:\n      type: python\n      data: {x: '{{ x }}'}\n      code: |\n"
    "        def main(x):\n            return 1 / x\n"
)


def test_the_item_that_failed_is_named_as_it_is_to_be_typed(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    ran = person.does("run", person.file(ITEMS))
    each, item = person.does("show", "1", "each"), person.does("show", "1", "each[1]")

    assert "more: noetl-mcp show 1 'each[1]'\n" in ran.err
    assert "noetl-mcp show 1 'each[1]'\n" in each.out
    assert "return 1 / x" in item.out
    assert "noetl-mcp events 1 --step 'each[1]'\n" in item.out
    listed = person.does("events", "1", "--step", "each[1]").out
    assert "ZeroDivisionError" in listed
    assert "loop_iteration" in listed
