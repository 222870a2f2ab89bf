"""Every task type passes the exam, and the exam finds what is wrong with those that should not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from noetl_mcp.playbook.values import Text
from noetl_mcp.tasks.calls import Call, Failed, Task, UnknownOutcome
from noetl_mcp.tasks.contract import TaskSpec, writes
from noetl_mcp.tasks.exam import Candidate, Case, examine
from noetl_mcp.tasks.settings_model import SettingsModel
from tests.tasks.candidates import CANDIDATES


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_task_type_of_this_house_passes_the_exam(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async def do() -> list[str]:
        made = CANDIDATES[name](tmp_path, lambda: request.getfixturevalue("empty_database"))
        async with made as candidate:
            return [str(breach) for breach in await examine(candidate)]

    if "postgres" in name:
        request.getfixturevalue("empty_database")
    assert asyncio.run(do()) == []


class NoteSettings(SettingsModel):
    """A note."""

    text: Text = Field(description="What is noted.")


class Unsaid(SettingsModel):
    """A note without words about it."""

    text: Text


NOTE = TaskSpec("note", "Note something.", NoteSettings, writes=writes, unknown_outcome="in_doubt")
OUTSIDE: list[str] = []


class Notes:
    """A good one."""

    async def execute(self, call: Call) -> Any:
        if not call.settings.text.strip():
            raise Failed("no-text", "there is nothing to note", retriable=False)
        call.around.may_send()
        OUTSIDE.append(call.settings.text)
        if call.settings.text == "lost":
            raise UnknownOutcome("lost", "the answer was lost")
        if call.settings.text == "slow":
            await asyncio.sleep(0 if call.timeout is None else min(60, call.timeout))
            raise UnknownOutcome("timeout", "there was no answer in time")
        return {"noted": True}

    async def close(self) -> None:
        """Nothing to let go of."""


class WithoutAsking(Notes):
    async def execute(self, call: Call) -> Any:
        OUTSIDE.append(call.settings.text)
        return {"noted": True}


class RaisesAnything(Notes):
    async def execute(self, call: Call) -> Any:
        if not call.settings.text.strip():
            raise KeyError("text")
        return await super().execute(call)


class NoJson(Notes):
    async def execute(self, call: Call) -> Any:
        await super().execute(call)
        return {"noted": {1, 2}}


class FailsWhenLost(Notes):
    async def execute(self, call: Call) -> Any:
        try:
            return await super().execute(call)
        except UnknownOutcome as lost:
            raise Failed("lost", lost.message) from None


class TellsSecrets(Notes):
    async def execute(self, call: Call) -> Any:
        call.around.log(f"noting {call.settings.text}")
        return await super().execute(call)


class ClosesOnce(Notes):
    is_closed = False

    async def close(self) -> None:
        assert not self.is_closed
        self.is_closed = True


class NeverStops(Notes):
    async def execute(self, call: Call) -> Any:
        if call.settings.text == "slow":
            await asyncio.sleep(5)
        return await super().execute(call)


class Changes(Notes):
    async def execute(self, call: Call) -> Any:
        if isinstance(call.input, dict):
            call.input.clear()
        return await super().execute(call)


def breaches(made: type[Task] = Notes, spec: TaskSpec = NOTE, **more: Any) -> list[str]:
    cases = more.pop("cases", None) or [
        Case("a note", {"text": "hunter2"}, {"a": 1}),
        Case("an empty note", {"text": " "}, ends="failed"),
        Case("a lost note", {"text": "lost"}, ends="lost"),
        Case("a slow note", {"text": "slow"}, ends="slow"),
    ]
    options = {"sent": lambda: len(OUTSIDE), "secrets": ["hunter2"], **more}
    candidate = Candidate(spec, made, cases, **options)
    return [breach.question for breach in asyncio.run(examine(candidate))]


def test_a_good_one_passes() -> None:
    assert breaches() == []


@pytest.mark.parametrize(
    ("made", "question"),
    [
        (WithoutAsking, "it asks before it writes"),
        (RaisesAnything, "it raises only its own failures"),
        (NoJson, "it answers in plain json"),
        (FailsWhenLost, "it knows when an outcome is unknown"),
        (TellsSecrets, "it keeps secrets"),
        (ClosesOnce, "it closes more than once"),
        (NeverStops, "it stops"),
        (Changes, "it keeps no state"),
    ],
)
def test_a_plugin_that_breaks_its_word_is_found_out(made: type[Task], question: str) -> None:
    assert question in breaches(made)


def test_a_reading_plugin_that_mixes_up_its_calls_is_found_out() -> None:
    class Mixes:
        last = ""

        async def execute(self, call: Call) -> Any:
            self.last = call.settings.text
            await asyncio.sleep(0.001)
            return {"text": self.last}

        async def close(self) -> None:
            """Nothing to let go of."""

    spec = TaskSpec("say", "Say something.", NoteSettings)
    cases = [Case("one", {"text": "1"}), Case("two", {"text": "2"})]

    assert "it keeps no state" in breaches(Mixes, spec, cases=cases)


def test_a_setting_without_a_description_is_found_out() -> None:
    spec = TaskSpec("note", "Note something.", Unsaid, writes=writes, unknown_outcome="in_doubt")

    assert breaches(spec=spec) == ["it describes itself"]


def test_a_write_that_hides_behind_a_template_is_found_out() -> None:
    def hidden(settings: Any) -> bool:
        return "{{" not in str(settings.get("text"))

    spec = TaskSpec("note", "Note it.", NoteSettings, writes=hidden, unknown_outcome="in_doubt")

    assert set(breaches(spec=spec)) == {"it says whether it writes"}


def test_too_few_cases_are_found_out() -> None:
    cases = [Case("a note", {"text": "a"})]

    assert breaches(cases=cases, sent=None).count("it is tried enough") == 3
