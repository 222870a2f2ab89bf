"""The wire of `/chat/completions`: tools as functions, or forced by the schema of the answer."""

from typing import Any

import orjson

from noetl_mcp.tasks.models.said import (
    Ask,
    Message,
    NoAnswer,
    Offer,
    Said,
    Wanted,
    as_text,
    usage_of,
    wanted,
)

PATH = "/chat/completions"
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
_ANSWER = "answer"


def body(ask: Ask) -> dict[str, Any]:
    """Return what is posted; params stand beside the rest and never in its place."""
    messages = [_message(one, forced=ask.forced) for one in ask.messages]
    system = ask.system
    if ask.forced:
        system = f"{system}\n\n{_told(ask)}" if system else _told(ask)
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    found: dict[str, Any] = {**ask.params, "model": ask.model, "messages": messages}
    if ask.offers and not ask.forced:
        found["tools"] = [_function(one) for one in ask.offers]
    schema = _forcing(ask) if ask.forced else ask.schema
    if schema is not None and (ask.forced or not ask.offers):
        named = {"name": "answer", "schema": schema}
        found["response_format"] = {"type": "json_schema", "json_schema": named}
    return found


def read(answer: Any, ask: Ask) -> Said:
    """Return what the model said; raise NoAnswer when this is no answer of one."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict) or not isinstance(choice, dict):
        raise NoAnswer("the answer has no choices[0].message")
    refusal = message.get("refusal")
    said = Said(
        as_text(message.get("content")),
        tuple(_wanted(message)),
        usage_of(answer.get("usage")),
        choice.get("finish_reason") if isinstance(choice.get("finish_reason"), str) else None,
        refusal if isinstance(refusal, str) and refusal else None,
    )
    return _unforced(said) if ask.forced else said


def _wanted(message: Any) -> list[Wanted]:
    calls = message.get("tool_calls")
    found = []
    for number, call in enumerate(calls if isinstance(calls, list) else (), 1):
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        told = function if isinstance(function, dict) else call
        found.append(wanted(call.get("id"), told.get("name"), told.get("arguments"), number))
    return found


def _message(message: Message, *, forced: bool) -> dict[str, Any]:
    """Return a message as the wire has it; its content is never null."""
    content = message["content"]
    if forced:
        return _plainly(message)
    if message["role"] == "tool":
        return {"role": "tool", "tool_call_id": message["tool_call_id"], "content": content}
    calls = message.get("tool_calls")
    if not calls:
        return {"role": message["role"], "content": content}
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [
            {
                "id": one["id"],
                "type": "function",
                "function": {
                    "name": one["name"],
                    "arguments": orjson.dumps(one["arguments"]).decode(),
                },
            }
            for one in calls
        ],
    }


def _plainly(message: Message) -> dict[str, Any]:
    """Return a message for a model that knows no tools: calls and answers are told as text."""
    if message["role"] == "tool":
        return {"role": "user", "content": f"{message['name']} gave:\n{message['content']}"}
    calls = message.get("tool_calls")
    if not calls:
        return {"role": message["role"], "content": message["content"]}
    told = {"tool": calls[0]["name"], "arguments": calls[0]["arguments"]}
    return {"role": "assistant", "content": orjson.dumps(told).decode()}


def _function(offer: Offer) -> dict[str, Any]:
    function: dict[str, Any] = {"name": offer.name, "parameters": dict(offer.schema)}
    if offer.description:
        function["description"] = offer.description
    return {"type": "function", "function": function}


# Forced


def _told(ask: Ask) -> str:
    """Tell a model that knows no tools how to ask for them, and how to answer."""
    if not ask.offers:
        return 'Answer in JSON: {"answer": …}'
    lines = ["You may ask for one of these tools before you answer:"]
    for one in ask.offers:
        about = f": {one.description}" if one.description else ""
        lines.append(f"- {one.name}{about}; arguments: {orjson.dumps(dict(one.schema)).decode()}")
    lines.append('Say {"tool": NAME, "arguments": {…}} to ask for one, {"answer": …} to answer.')
    return "\n".join(lines)


def _forcing(ask: Ask) -> dict[str, Any]:
    """Return a schema that an answer fits only when it is a call of a tool, or the answer."""
    calls = [
        {
            "type": "object",
            "properties": {"tool": {"const": one.name}, "arguments": dict(one.schema)},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for one in ask.offers
    ]
    answer = {
        "type": "object",
        "properties": {_ANSWER: dict(ask.schema) if ask.schema else {"type": "string"}},
        "required": [_ANSWER],
        "additionalProperties": False,
    }
    return {"anyOf": [*calls, answer]} if calls else answer


def _unforced(said: Said) -> Said:
    """Return what was said in the form that the schema forced."""
    try:
        told = orjson.loads(said.content)
    except ValueError:
        return said
    if not isinstance(told, dict):
        return said
    if "tool" in told:
        call = wanted(None, told["tool"], told.get("arguments"), 1)
        return Said("", (call,), said.usage, "tool_calls", said.refusal)
    if _ANSWER in told:
        answer = told[_ANSWER]
        content = answer if isinstance(answer, str) else orjson.dumps(answer).decode()
        return Said(content, (), said.usage, said.finish_reason, said.refusal)
    return said


__all__ = ["PATH", "STREAMED", "body", "read"]
