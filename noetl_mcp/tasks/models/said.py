"""What a model is asked and what it says, whatever wire lies between. Plain values; sends nothing.

A message is `{role, content}`; an assistant's may have `tool_calls`, a tool's has `name` and
`tool_call_id`. Its content is always a text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

Message = dict[str, Any]
MOST_CALLS = 128
"""More calls of tools are not made for one answer."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that a model may ask for."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a model."""

    model: str
    system: str | None
    messages: Sequence[Message]
    offers: Sequence[Offer] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    """What the answer must fit, when it is to be JSON."""
    forced: bool = False
    """Tools are asked for by a schema that the answer must fit, for models that know no tools."""
    is_streamed: bool = False
    """The answer is to come piece by piece."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call of a tool that a model asks for; `problem` says why it cannot be made."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the form that is kept."""
        found = {"id": self.id, "name": self.name, "arguments": dict(self.arguments)}
        return found if self.problem is None else {**found, "problem": self.problem}


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said."""

    content: str = ""
    wanted: tuple[Wanted, ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    """`input_tokens`, `output_tokens` and `cost`, as far as they were told."""
    finish_reason: str | None = None
    refusal: str | None = None

    @property
    def message(self) -> Message:
        """What is said in the transcript."""
        spoken: Message = {"role": "assistant", "content": self.content}
        if self.wanted:
            spoken["tool_calls"] = [one.as_json() for one in self.wanted]
        return spoken


class NoAnswer(Exception):
    """What came is no answer of a model; the text says why."""


class BrokenOff(NoAnswer):
    """An answer began and was not told to its end; another attempt may bring it."""


def wanted(id_: Any, name: Any, arguments: Any, number: int) -> Wanted:
    """Return a call of a tool as a model asked for it; arguments may come as a text of JSON."""
    known = id_ if isinstance(id_, str) and id_ else f"call_{number}"
    called = name if isinstance(name, str) else ""
    problem = None if called else "the call names no tool"
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments) if arguments.strip() else {}
        except ValueError as broken:
            problem = f"the arguments are not JSON: {broken}"
            arguments = {}
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        problem, arguments = "the arguments are no JSON object", {}
    return Wanted(known, called, arguments, problem)


def usage_of(told: Any) -> dict[str, Any]:
    """Return what is told of tokens and cost, by the names that we use."""
    if not isinstance(told, dict):
        return {}
    found: dict[str, Any] = {}
    for ours, theirs in _USAGE.items():
        for name in theirs:
            number = told.get(name)
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                found[ours] = number
                break
    return found


_USAGE = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "cost": ("cost", "total_cost"),
}


def added(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what several calls used together; `cost` only where somebody told one."""
    total: dict[str, Any] = {"input_tokens": 0, "output_tokens": 0, "cost": None}
    for one in usages:
        for name, number in one.items():
            total[name] = number if total.get(name) is None else total[name] + number
    return total


def as_text(content: Any) -> str:
    """Return the text of a message's content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [one.get("text") if isinstance(one, dict) else one for one in content]
        return "".join(one for one in parts if isinstance(one, str))
    return ""


__all__ = [
    "MOST_CALLS",
    "Ask",
    "BrokenOff",
    "Message",
    "NoAnswer",
    "Offer",
    "Said",
    "Wanted",
    "added",
    "as_text",
    "usage_of",
    "wanted",
]
