import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from noetl_mcp.broker.program import Program
from noetl_mcp.broker.starts import WrongPayload
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.playbook.load import load
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State
from noetl_mcp.tasks.calls import Failed, Task
from noetl_mcp.tasks.contract import TaskSpec, writes
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.tasks.specs_compute import NoopSettings
from noetl_mcp.worker.bench import Bench
from noetl_mcp.worker.rehearsal import Props, Rehearsal, Rehearsed
from tests.worker.shop import HEAD, Does, echo

SPECS = {
    **known_tasks(),
    "echo": TaskSpec("echo", "Give the input back.", NoopSettings),
    "change": TaskSpec("change", "Write.", NoopSettings, writes=writes, unknown_outcome="in_doubt"),
}


def program(text: str) -> Program:
    plan = compile_playbook(load(HEAD + text, "t.yaml"), SPECS)
    assert plan is not None
    return Program(decode(plan.to_json().decode()), SPECS)


class Stage:
    """A dry run with its tasks, and what really reached them."""

    def __init__(self, **children: str) -> None:
        self.echo, self.change = Does(echo), Does(echo)
        self.children = children

    def run(self, text: str, payload: Mapping[str, Any] | None = None) -> Rehearsed:
        more: dict[str, Callable[[], Task]] = {
            "echo": lambda: self.echo,
            "change": lambda: self.change,
        }

        async def go() -> Rehearsed:
            bench = Bench(more=more, children=1)
            props = Props(SPECS, bench.task, self.find, self.credentials)
            async with asyncio.timeout(20):
                found = await Rehearsal(props).run(program(text), payload or {})
            await bench.close()
            return found

        return asyncio.run(go())

    def find(self, path: str, version: int | str | None) -> Program:
        if path not in self.children:
            raise Failed("no-such-playbook", f"there is no '{path}'", retriable=False)
        return program(self.children[path])

    async def credentials(self, run: Any, node: Any, auth: Any) -> Mapping[str, Mapping[str, Any]]:
        return {}


def states(found: Rehearsed) -> dict[str, str]:
    return {name: State(state).name.lower() for name, state, _, _ in found.states}


def test_what_reads_is_done_and_what_writes_is_predicted() -> None:
    stage = Stage()

    found = stage.run(
        "workflow:\n  - {step: start, next: [look]}\n"
        "  - {step: look, type: echo, data: {v: 3},"
        " next: [{when: '{{ look.v > 2 }}', step: make}]}\n"
        "  - {step: make, type: change, data: {v: '{{ look.v }}'}, confirm: true, next: [end]}\n"
        "  - {step: end, type: end, result: '{{ look.v }}'}\n"
    )

    assert (found.is_allowed, found.result) == (True, 3)
    assert [(one.step, one.verdict) for one in found.writes] == [("make", "allowed")]
    assert (len(stage.echo.calls), len(stage.change.calls)) == (1, 0)


def test_what_hangs_on_the_answer_of_a_write_is_unknown_and_not_a_failure() -> None:
    stage = Stage()

    found = stage.run(
        "workflow:\n  - {step: start, next: [make, other]}\n"
        "  - {step: make, type: change, confirm: true, next: [use]}\n"
        "  - {step: use, type: echo, data: {id: '{{ make.id }}'}, next: [end]}\n"
        "  - {step: other, type: change, confirm: true, next: [end]}\n"
        "  - {step: end, type: end, result: '{{ use.id }}'}\n"
    )

    assert found.is_allowed
    assert found.unknown == ("use", "the result")
    assert sorted(one.step for one in found.writes) == ["make", "other"]
    assert stage.echo.calls == []


def test_a_write_that_the_gates_refuse_fails_the_dry_run() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        "  - {step: make, type: change, expect: {maxCreated: '{{ 0 - 1 }}'}, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert not found.is_allowed
    assert [one.verdict for one in found.writes] == ["refused"]


def test_a_step_that_fails_by_itself_fails_the_dry_run_and_its_finally_steps_are_gone_through() -> (
    None
):
    stage = Stage()

    found = stage.run(
        "workflow:\n  - {step: start, next: [bad]}\n"
        "  - {step: bad, type: echo, data: {fails: 9}, next: [end]}\n  - {step: end}\n"
        "finally:\n  - {step: clean, type: change, confirm: true}\n"
    )

    assert not found.is_allowed
    assert (found.error or {})["step"] == "bad"
    assert [one.step for one in found.writes] == ["clean"]


def test_items_and_children_are_gone_through_too() -> None:
    child = (
        "workload: {n: 0}\nworkflow:\n  - {step: start, next: [make]}\n"
        "  - {step: make, type: change, data: {n: '{{ workload.n }}'}, confirm: true,"
        " next: [end]}\n"
        "  - {step: end, type: end, result: '{{ workload.n }}'}\n"
    )
    stage = Stage(**{"tests/child": child})

    found = stage.run(
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [1, 2], element: x, next: [kid],"
        " task: {type: change, data: {x: '{{ x }}'}, confirm: true}}\n"
        "  - {step: kid, type: playbook, path: tests/child, data: {n: 5}, next: [end]}\n"
        "  - {step: end, type: end, result: '{{ kid }}'}\n"
    )

    assert (found.is_allowed, found.result) == (True, 5)
    assert len(found.writes) == 3
    assert stage.change.calls == []


def test_persons_are_not_asked_and_nobody_waits() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [ask]}\n"
        "  - {step: ask, type: approve, approve: {message: may I}, next: [sleep]}\n"
        "  - {step: sleep, type: wait, wait: {for: 1h}, next: [end]}\n  - {step: end}\n"
    )

    assert found.is_allowed
    assert states(found) == {"start": "done", "ask": "done", "sleep": "done", "end": "done"}


def test_a_payload_that_does_not_fit_is_refused_before_anything() -> None:
    stage = Stage()

    with pytest.raises(WrongPayload):
        stage.run(
            "workload: {n: {type: integer, required: true}}\n"
            "workflow:\n  - {step: start, next: [a]}\n  - {step: a, type: echo, next: [end]}\n"
            "  - {step: end}\n"
        )

    assert stage.echo.calls == []


MAKE = "{step: make, type: change, confirm: true"


def verdicts(found: Rehearsed) -> dict[str, str]:
    return {one.step: one.verdict + (" perhaps" if one.perhaps else "") for one in found.writes}


def test_writes_behind_one_that_is_not_wholly_known_are_looked_at_too() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [second]}}\n"
        "  - {step: second, type: change, data: {id: '{{ make.id }}'}, confirm: true,"
        " next: [third]}\n"
        "  - {step: third, type: change, expect: {requireConfirm: true}, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert verdicts(found) == {"make": "allowed", "second": "unknown", "third": "refused"}
    assert (found.is_allowed, found.verdict, found.unknown) == (False, "refused", ("second",))
    assert (found.error or {})["step"] == "third"


def test_a_result_that_is_not_known_keeps_no_finally_step_from_being_looked_at() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [end]}}\n  - {{step: end, result: '{{{{ make.id }}}}'}}\n"
        "finally:\n  - {step: clean, type: change, confirm: true}\n"
    )

    assert verdicts(found) == {"make": "allowed", "clean": "allowed"}
    assert (found.verdict, found.unknown) == ("unknown", ("the result",))


def test_what_a_default_would_hide_is_unknown_all_the_same() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [use]}}\n"
        "  - {step: use, type: echo, data: {id: '{{ make.id | default(7) }}'}, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert found.unknown == ("use",)


def test_of_a_condition_that_is_not_known_every_way_is_perhaps_taken() -> None:
    stage = Stage()

    found = stage.run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [{{when: '{{{{ make.ok }}}}', step: more}}, less]}}\n"
        "  - {step: more, type: change, confirm: true, next: [look]}\n"
        "  - {step: less, type: change, expect: {requireConfirm: true}, next: [end]}\n"
        "  - {step: look, type: echo, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert verdicts(found) == {
        "make": "allowed",
        "more": "allowed perhaps",
        "less": "refused perhaps",
    }
    assert (found.is_allowed, found.unknown) == (False, ("look",))
    assert stage.echo.calls == []


def test_exclusive_ways_end_at_the_first_that_is_certainly_taken() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: {{spec: {{mode: exclusive}}, arcs: ["
        "{when: '{{ 1 > 2 }}', step: a}, {when: '{{ make.ok }}', step: b},"
        " {when: '{{ 2 > 1 }}', step: c}, {step: d}]}}\n"
        + "".join(f"  - {{step: {n}, type: change, confirm: true, next: [end]}}\n" for n in "abcd")
        + "  - {step: end}\n"
    )

    assert set(verdicts(found)) == {"make", "b", "c"}
    assert verdicts(found)["c"] == "allowed perhaps"


def test_a_step_whose_own_condition_is_not_known_is_perhaps_reached() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [more]}}\n"
        "  - {step: more, type: change, when: '{{ make.ok }}', confirm: true, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert verdicts(found) == {"make": "allowed", "more": "allowed perhaps"}


def test_what_follows_when_a_write_fails_is_perhaps_reached() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, on_error: undo, next: [end]}}\n"
        "  - {step: undo, type: change, expect: {requireConfirm: true}, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert verdicts(found) == {"make": "allowed", "undo": "refused perhaps"}
    assert not found.is_allowed


def test_items_that_are_not_known_are_gone_through_with_one_for_all() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [each]}}\n"
        "  - {step: each, type: iterator, collection: '{{ make.rows }}', element: x, next: [end],"
        " task: {type: change, data: {x: '{{ x.id }}'}, expect: {requireConfirm: true}}}\n"
        "  - {step: end, result: '{{ each.results }}'}\n"
    )

    assert verdicts(found)["each.item"] == "refused perhaps"
    assert found.writes[1].item is None
    assert not found.is_allowed


def test_what_items_give_that_were_not_sent_is_not_known_but_how_many_there_are_is() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [1, 2], element: x, next: [use, many],"
        " task: {type: change, data: {x: '{{ x }}'}, confirm: true}}\n"
        "  - {step: use, type: echo, data: {ids: '{{ each.results }}'}, next: [end]}\n"
        "  - {step: many, type: echo, data: {n: '{{ each.results | length }}'}, next: [end]}\n"
        "  - {step: end, result: '{{ many.n }}'}\n"
    )

    assert (found.unknown, found.result) == (("use",), 2)


def test_a_child_is_gone_through_with_what_is_known_of_its_payload() -> None:
    child = (
        "workload: {id: {type: integer, required: true}, n: 0}\n"
        "workflow:\n  - {step: start, next: [a]}\n"
        "  - {step: a, type: change, data: {id: '{{ workload.id }}'}, confirm: true, next: [b]}\n"
        "  - {step: b, type: change, data: {n: '{{ workload.n }}'}, confirm: true, next: [end]}\n"
        "  - {step: end, result: {n: '{{ workload.n }}', id: '{{ workload.id }}'}}\n"
    )

    found = Stage(**{"tests/child": child}).run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [kid]}}\n"
        "  - {step: kid, type: playbook, path: tests/child,"
        " data: {id: '{{ make.id }}', n: 5}, next: [end]}\n"
        "  - {step: end, result: '{{ kid.n }}'}\n"
    )

    assert verdicts(found) == {"make": "allowed", "a": "unknown", "b": "allowed"}
    assert (found.result, found.writes[2].playbook) == (5, "tests/child")


def test_a_child_is_asked_for_the_confirmations_that_its_parent_asks_for() -> None:
    child = "workflow:\n  - {step: start, type: change, data: {x: 1}}\n"

    found = Stage(**{"tests/child": child}).run(
        "require_confirm: true\nworkflow:\n  - {step: start, type: playbook, path: tests/child}\n"
    )

    assert verdicts(found) == {"start": "refused"}


def test_a_child_that_perhaps_calls_itself_is_gone_into_once() -> None:
    again = (
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [{{when: '{{{{ make.more }}}}', step: kid}}, end]}}\n"
        "  - {step: kid, type: playbook, path: tests/again, next: [end]}\n  - {step: end}\n"
    )

    found = Stage(**{"tests/again": again.replace("t.yaml", "")}).run(again)

    assert found.is_allowed
    assert len(found.writes) < 4


def test_a_read_that_fails_behind_a_write_may_well_work_once_that_is_done() -> None:
    text = (
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [look]}}\n"
        "  - {step: look, type: echo, data: {fails: 9}, next: [more]}\n"
        "  - {step: more, type: change, confirm: true, next: [end]}\n  - {step: end}\n"
    )

    found = Stage().run(text)

    assert (found.verdict, found.unknown) == ("unknown", ("look",))
    assert verdicts(found) == {"make": "allowed", "more": "allowed"}


def test_behind_what_certainly_fails_nothing_is_reached_but_beside_it_everything() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [bad, other]}\n"
        "  - {step: bad, type: change, expect: {requireConfirm: true}, next: [after]}\n"
        "  - {step: after, type: change, confirm: true, next: [end]}\n"
        "  - {step: other, type: echo, data: {v: 1}, next: [late]}\n"
        "  - {step: late, type: change, confirm: true, next: [both]}\n"
        "  - {step: both, type: change, confirm: true, needs: [after], next: [end]}\n"
        "  - {step: end}\n".replace(", needs: [after]", "")
    )

    assert verdicts(found) == {"bad": "refused", "late": "allowed", "both": "allowed"}
    assert states(found)["after"] == "skipped"


def test_names_set_from_what_is_not_known_are_not_known_either() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, set: {{id: '{{{{ result.id }}}}', n: 7}}, next: [use, good]}}\n"
        "  - {step: use, type: echo, data: {id: '{{ ctx.id }}'}, next: [end]}\n"
        "  - {step: good, type: echo, data: {n: '{{ ctx.n }}'}, next: [end]}\n"
        "  - {step: end, result: '{{ good.n }}'}\n"
    )

    assert (found.unknown, found.result) == (("use",), 7)


def test_a_type_that_no_worker_can_do_is_refused() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [make]}\n"
        "  - {step: make, type: revit, method: delete_element, confirm: true, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert [(one.verdict, one.planned.code) for one in found.writes] == [
        ("refused", "no-such-task")
    ]


def test_polling_for_what_a_write_brings_about_is_not_waited_for() -> None:
    stage = Stage()

    found = stage.run(
        "workflow:\n  - {step: start, next: [make]}\n"
        f"  - {MAKE}, next: [poll]}}\n"
        "  - {step: poll, type: echo, data: {v: 1},"
        " repeat: {until: '{{ result.v == 2 }}', max: 60, delay: 2s}, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert (found.unknown, len(stage.echo.calls)) == (("poll",), 1)


def test_a_sequence_gives_what_its_last_task_gives_known_or_not() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [both]}\n"
        "  - {step: both, type: sequence, next: [use], tasks: ["
        "{name: one, type: echo, data: {v: 1}}, {name: two, type: change, confirm: true}]}\n"
        "  - {step: use, type: echo, data: {v: '{{ both.v }}'}, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert found.unknown == ("use",)
    assert [one.verdict for one in found.writes] == ["allowed"]


def test_a_save_says_where_its_rows_go_and_how_many_they_are() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [look]}\n"
        "  - {step: look, type: echo, data: {rows: [{a: 1}, {a: 2}]}, next: [end],"
        " save: [{storage: file, path: /tmp/x.jsonl, data: '{{ result.rows }}'}]}\n"
        "  - {step: end}\n"
    )

    (one,) = found.writes
    assert one.deed.head == "2 rows into file /tmp/x.jsonl (append)"
    assert (one.deed.request or {})["data"] == [{"a": 1}, {"a": 2}]


def test_a_request_is_shown_without_its_secrets() -> None:
    found = Stage().run(
        "workload: {key: {type: string, default: sesame-open, secret: true}}\n"
        "workflow:\n  - {step: start, next: [make]}\n"
        "  - {step: make, type: http, method: POST, url: 'http://127.0.0.1:9/{{ workload.key }}',"
        " data: {number: A-1, key: '{{ workload.key }}'}, confirm: true, next: [end]}\n"
        "  - {step: end}\n"
    )

    told = found.writes[0].as_json()
    assert "sesame" not in str(told)
    assert told["method"] == "POST"
    assert told["request"] == {
        "method": "POST",
        "url": "http://127.0.0.1:9/••••••",
        "body": {"number": "A-1", "key": "••••••"},
    }


def test_an_approval_is_said_to_be_assumed_and_who_gave_it_is_not_known() -> None:
    found = Stage().run(
        "workflow:\n  - {step: start, next: [ask]}\n"
        "  - {step: ask, type: approve, approve: {message: may I},"
        " next: [{when: '{{ ask.approved }}', step: make}]}\n"
        "  - {step: make, type: change, data: {by: '{{ ask.by }}'}, confirm: true, next: [end]}\n"
        "  - {step: end}\n"
    )

    assert found.assumed == {"ask": "assumed approved"}
    assert verdicts(found) == {"make": "unknown"}


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1 AS to) TO '/tmp/a.csv'",
        "/* to */ copy t (a) to '/tmp/a.csv' (FORMAT csv)",
        "SELECT 1; EXPORT DATABASE '/tmp/a'",
    ],
)
def test_a_file_that_sql_may_not_write_is_refused_already_in_a_dry_run(sql: str) -> None:
    """The worker of this test allows no folder."""
    step = f'type: duckdb, writes: true, confirm: true, sql: "{sql}"'

    found = Stage().run(f"workflow:\n  - {{step: start, {step}}}\n")

    (write,) = found.writes
    assert write.verdict == "refused"
    assert "writes '/tmp/a" in write.why
    assert "set NOETL_FILES" in write.why


@pytest.mark.parametrize("sql", ["COPY t FROM '/tmp/a.csv'", "CREATE TABLE t AS SELECT '/to' AS a"])
def test_sql_that_writes_no_file_is_allowed_in_a_dry_run(sql: str) -> None:
    step = f'type: duckdb, writes: true, confirm: true, sql: "{sql}"'

    found = Stage().run(f"workflow:\n  - {{step: start, {step}}}\n")

    (write,) = found.writes
    assert write.verdict == "allowed", write.why


REJECTED = """
workflow:
  - {step: start, next: [b]}
  - {step: b, type: approve, approve: {message: "ok?"}, on_error: no, next: [end]}
  - {step: no, type: set, values: {x: "{{ b.error.code }}", y: "{{ 1 if b.error else 0 }}"}}
  - {step: end, result: {x: "X"}}
"""


def test_a_step_behind_a_failure_finds_an_error_though_nothing_failed() -> None:
    found = Stage().run(REJECTED.replace("X", "{{ b.error is none }}"))

    assert (found.verdict, found.result) == ("allowed", {"x": True})
    assert not found.unknown
    assert found.perhaps == {"no"}


def test_what_an_error_says_is_not_known_in_a_dry_run() -> None:
    found = Stage().run(REJECTED.replace("X", "{{ no.x }}"))

    assert found.verdict == "unknown"
    assert found.unknown == ("the result",)


def test_a_write_behind_a_failure_is_looked_at_as_far_as_the_error_is_known() -> None:
    text = """
workflow:
  - {step: start, next: [b]}
  - {step: b, type: change, confirm: true, on_error: [{step: tell}], next: [end]}
  - {step: tell, type: change, confirm: true, data: {why: "{{ b.error.message }}"}, next: [end]}
  - {step: end}
"""

    found = Stage().run(text)

    tell = found.writes[-1]
    assert (tell.planned.step, tell.planned.verdict, tell.perhaps) == ("tell", "allowed", True)
    assert tell.unknown == ("{{ b.error.message }}",)


@pytest.mark.parametrize(
    "step",
    [
        'type: wait, wait: {for: "{{ workload.x }}"}',
        'type: approve, approve: {message: a, timeout: "{{ workload.x }}"}',
        'type: callback, expires: "{{ workload.x }}"',
        'type: iterator, collection: [1], limit: "{{ workload.x }}", task: {type: echo}',
        'type: echo, timeout: "{{ workload.x }}"',
        'type: echo, retry: {max_attempts: "{{ workload.x }}"}',
    ],
)
def test_a_wrong_setting_is_told_before_anything_runs(step: str) -> None:
    text = f"workload: {{x: -1}}\nworkflow:\n  - {{step: start, {step}}}\n"

    found = Stage().run(text)

    assert found.verdict == "failed"
    assert found.error is not None
    assert found.error["code"] == "bad-settings"
