"""The exam that every task type passes before it is listed: what its spec says, how it behaves.

    from noetl_mcp.tasks.exam import Candidate, Case, examine

    def test_the_type_passes_the_exam() -> None:
        candidate = Candidate(SPEC, Greet, [Case("greets Ada", {"name": "Ada"})])

        assert asyncio.run(examine(candidate)) == []

The cases are carried out for real, several times and side by side; a case that writes must bear it.
Needs no worker, no database and no test library.
"""

import asyncio
import copy
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.values import Model
from noetl_mcp.tasks.calls import Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.exam_cases import (
    DEADLINE,
    Around,
    Candidate,
    Case,
    call_of,
    ended,
    once,
    opened,
    sent,
)
from noetl_mcp.tasks.plain import not_plain

_AT_ONCE, _SOON, _SHORT = 8, 3.0, 0.5
_CODE = re.compile(r"[a-z0-9]+(-[A-Za-z0-9]+)*")
_ODD_INPUTS: tuple[Json, ...] = (
    None,
    "text",
    [1, "\ud800"],
    {"a": {"b": [None, 1e308]}},
    {"\0": 1},
)


@dataclass(frozen=True, slots=True)
class Breach:
    """A question of the exam that a task type does not pass, and why."""

    question: str
    why: str

    def __str__(self) -> str:
        return f"{self.question}: {self.why}"


Question = Callable[[Candidate], AsyncIterator[str]]


async def examine(candidate: Candidate) -> list[Breach]:
    """Return every question that a task type does not pass; none is the aim."""
    found: list[Breach] = []
    for question in QUESTIONS:
        name = question.__name__.replace("_", " ").strip()
        try:
            async with asyncio.timeout(DEADLINE):
                found += [Breach(name, why) async for why in question(candidate)]
        except Exception as problem:  # noqa: BLE001 - what is examined may raise anything
            found.append(Breach(name, f"it raised {type(problem).__name__}: {problem}"))
    return found


# Questions about the spec


async def it_describes_itself(candidate: Candidate) -> AsyncIterator[str]:
    """A person can read what it does and what each setting means."""
    spec = candidate.spec
    if not spec.summary.strip().endswith("."):
        yield "its summary is no sentence"
    spec.settings.model_json_schema()
    for model in _models(spec.settings):
        for name, one in model.model_fields.items():
            if not (one.description or "").strip():
                yield f"the setting '{name}' of {model.__name__} has no description"


async def it_says_whether_it_writes(candidate: Candidate) -> AsyncIterator[str]:
    """It answers for the settings as they are written, and assumes the worst of templates."""
    for case in candidate.cases:
        says = candidate.spec.writes(case.settings)
        if not isinstance(says, bool):
            yield f"of '{case.what}' it says {says!r}, not True or False"
        if says and not candidate.spec.writes(dict.fromkeys(case.settings, "{{ x }}")):
            yield f"'{case.what}' writes, but not when its settings are templates"


async def it_is_tried_enough(candidate: Candidate) -> AsyncIterator[str]:
    """There are cases for what the other questions ask."""
    if not any(candidate.that("done")):
        yield "no case is done"
    if not any(candidate.that("failed")):
        yield "no case is failed: add one that is refused, with a wrong setting or input"
    if any(candidate.that("done", "lost", writes=True)) and candidate.sent is None:
        yield "a case writes, and 'sent' does not tell what arrives"
    is_open = candidate.spec.unknown_outcome != "run_again"
    if is_open and not candidate.never_lost and not any(candidate.that("lost")):
        yield "no case is lost, and 'never_lost' does not say why"


# Questions about calls


async def it_answers_in_plain_json(candidate: Candidate) -> AsyncIterator[str]:
    """What it gives can be kept and read by everybody."""
    for case in candidate.that("done"):
        found = await once(candidate, case)
        if found.problem is not None:
            yield f"'{case.what}' was to be done: {found}"
        elif problem := not_plain(found.answer):
            yield f"the answer to '{case.what}' is no plain JSON: {problem}"


async def it_raises_only_its_own_failures(candidate: Candidate) -> AsyncIterator[str]:
    """A case that is refused fails in words; an odd input is an input, or a failure."""
    for case in candidate.that("failed"):
        found = await once(candidate, case)
        if not isinstance(found.problem, Failed):
            yield f"'{case.what}' was to fail: {found}"
        else:
            for wrong in _wrong_in(found.problem):
                yield f"the failure of '{case.what}' {wrong}"
    for case in candidate.that("done", writes=False):
        for odd in _ODD_INPUTS:
            found = await once(candidate, replace(case, input=odd))
            if not isinstance(found.problem, (Failed, UnknownOutcome, type(None))):
                yield f"given the input {odd!r}, '{case.what}': {found}"


async def it_asks_before_it_writes(candidate: Candidate) -> AsyncIterator[str]:
    """Right before a write it asks whether it still may, and sends nothing when it may not."""
    for case in candidate.that("done", writes=True):
        found = await once(candidate, case)
        if found.problem is None and not found.around.asked:
            yield f"'{case.what}' never called 'may_send'"
    for case in candidate.that("done", "lost", writes=True):
        before = sent(candidate)
        found = await once(candidate, case, Around(holds=False))
        if not isinstance(found.problem, HandedBack):
            yield f"'{case.what}' was not to send: {found}"
        if sent(candidate) != before:
            yield f"'{case.what}' sent something though 'may_send' forbade it"


async def it_knows_when_an_outcome_is_unknown(candidate: Candidate) -> AsyncIterator[str]:
    """A write whose answer is lost has an unknown outcome; a read may simply fail."""
    for case in candidate.that("lost"):
        for writes in {candidate.is_write(case), True}:
            found = await once(candidate, replace(case, writes=writes))
            right = (UnknownOutcome,) if writes else (UnknownOutcome, Failed)
            if candidate.spec.unknown_outcome == "run_again":
                right = (UnknownOutcome, Failed)
            if not isinstance(found.problem, right):
                kind = "a write" if writes else "a read"
                yield f"the answer to '{case.what}' was lost, as {kind}: {found}"


async def it_keeps_no_state(candidate: Candidate) -> AsyncIterator[str]:
    """The same calls give the same, one by one and side by side; what they are given stays."""
    cases = list(candidate.that("done", writes=False))
    async with opened(candidate) as task:
        alone = [await ended(candidate, task, case) for case in cases]
        many = [(at, case) for at, case in enumerate(cases) for _ in range(_AT_ONCE)]
        beside = await asyncio.gather(*(ended(candidate, task, case) for _, case in many))
    for (at, case), other in zip(many, beside, strict=True):
        one = alone[at]
        if other.problem is not None or one.problem is not None:
            yield f"'{case.what}', side by side with others: {other}"
        elif candidate.steady(one.answer) != candidate.steady(other.answer):
            yield f"'{case.what}' gave something else side by side with others"
    for case in candidate.cases:
        if case.ends in ("done", "failed"):
            given = call_of(candidate, case, Around())
            before = copy.deepcopy((given.settings, given.input, dict(given.auth)))
            await once(candidate, case, given=given)
            if before != (given.settings, given.input, dict(given.auth)):
                yield f"'{case.what}' changed what it was given"


async def it_keeps_secrets(candidate: Candidate) -> AsyncIterator[str]:
    """No secret stands in what it raises, remembers or writes into the log."""
    for case in candidate.that("done", "failed", "lost"):
        found = await once(candidate, case)
        said = [repr(found.problem), *map(repr, found.around.told)]
        for key in ("message", "details", "evidence"):
            said.append(repr(getattr(found.problem, key, "")))
        if any(secret in text for secret in candidate.secrets for text in said):
            yield f"'{case.what}' tells a secret"


async def it_stops(candidate: Candidate) -> AsyncIterator[str]:
    """A slow call ends soon after its timeout, and soon after it was cancelled."""
    for case in candidate.that("slow"):
        begun = asyncio.get_running_loop().time()
        found = await once(candidate, case, timeout=_SHORT)
        took = asyncio.get_running_loop().time() - begun
        if not isinstance(found.problem, (Failed, UnknownOutcome)) or took > _SHORT + _SOON:
            yield f"'{case.what}' took {took:.1f} s with a timeout of {_SHORT} s: {found}"
        async with opened(candidate) as task:
            doing = asyncio.create_task(ended(candidate, task, case))
            await asyncio.sleep(_SHORT)
            doing.cancel()
            await asyncio.wait({doing}, timeout=_SOON)
            if not doing.done():
                yield f"'{case.what}' did not stop when it was cancelled"


async def it_closes_more_than_once(candidate: Candidate) -> AsyncIterator[str]:
    """It can be closed unused, used, and again."""
    for case in (None, next(candidate.that("done", writes=False), None)):
        task = candidate.make()
        if case is not None:
            await ended(candidate, task, case)
        for time in ("first", "second"):
            try:
                await asyncio.wait_for(task.close(), _SOON)
            except Exception as problem:  # noqa: BLE001 - what is examined may raise anything
                said = f"{type(problem).__name__}: {problem}"
                yield f"it cannot be closed the {time} time: {said}"


QUESTIONS: tuple[Question, ...] = (
    it_describes_itself,
    it_says_whether_it_writes,
    it_is_tried_enough,
    it_answers_in_plain_json,
    it_raises_only_its_own_failures,
    it_asks_before_it_writes,
    it_knows_when_an_outcome_is_unknown,
    it_keeps_no_state,
    it_keeps_secrets,
    it_stops,
    it_closes_more_than_once,
)


def _wrong_in(failed: Failed) -> Iterator[str]:
    if not isinstance(failed.code, str) or not _CODE.fullmatch(failed.code):
        yield f"has the code {failed.code!r}, which is no short word with hyphens"
    if not isinstance(failed.message, str) or not failed.message.strip():
        yield "says nothing"
    if problem := not_plain(failed.details):
        yield f"has details that are no plain JSON: {problem}"


def _models(model: type[Model]) -> list[type[Model]]:
    """Return a model and all that its fields are made of."""
    found, pending = list[type[Model]](), [model]
    while pending:
        one = pending.pop()
        if one in found:
            continue
        found.append(one)
        pending += [inner for name in one.model_fields.values() for inner in _inside(name)]
    return found


def _inside(annotated: Any) -> Iterator[type[Model]]:
    annotation = getattr(annotated, "annotation", annotated)
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for part in get_args(annotation):
        yield from _inside(part)


__all__ = ["QUESTIONS", "Around", "Breach", "Candidate", "Case", "Question", "examine"]
