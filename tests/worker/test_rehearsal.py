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
