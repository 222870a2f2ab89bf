"""The wire of a gateway: the whole request is posted, and the answer is flat."""

from typing import Any

from noetl_mcp.tasks.models import openai
from noetl_mcp.tasks.models.said import Ask, NoAnswer, Said, Wanted, as_text, usage_of, wanted

PATH = "/chat"
STREAMED = {"stream": True}


def body(ask: Ask) -> dict[str, Any]:
    """Return what is posted."""
    found: dict[str, Any] = {
        "model": ask.model,
        "system": ask.system,
        "messages": list(ask.messages),
        "tools_allowed": [one.name for one in ask.offers],
    }
    if ask.params:
        found["params"] = dict(ask.params)
    if ask.offers:
        found["tools"] = [
            {"name": one.name, "description": one.description, "input_schema": dict(one.schema)}
            for one in ask.offers
        ]
    if ask.schema is not None:
        found["output_schema"] = dict(ask.schema)
    return found


def read(answer: Any, ask: Ask) -> Said:
    """Return what the model said; an answer in the form of OpenAI is understood too."""
    if not isinstance(answer, dict):
        raise NoAnswer("the answer is no JSON object")
    if "choices" in answer:
        return openai.read(answer, ask)
    if "content" not in answer and "tool_calls" not in answer:
        raise NoAnswer("the answer has neither 'content' nor 'tool_calls'")
    reason, refusal = answer.get("finish_reason"), answer.get("refusal")
    return Said(
        as_text(answer.get("content")),
        tuple(_wanted(answer.get("tool_calls"))),
        usage_of(answer.get("usage")),
        reason if isinstance(reason, str) else None,
        refusal if isinstance(refusal, str) and refusal else None,
    )


def _wanted(calls: Any) -> list[Wanted]:
    found = []
    for number, call in enumerate(calls if isinstance(calls, list) else (), 1):
        if isinstance(call, dict):
            function = call.get("function")
            told = function if isinstance(function, dict) else call
            found.append(wanted(call.get("id"), told.get("name"), told.get("arguments"), number))
    return found


__all__ = ["PATH", "STREAMED", "body", "read"]
