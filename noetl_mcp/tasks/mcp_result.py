"""The results of mcp steps: what a server answered, as plain JSON. Pure.

A tool gives `{text, data, content}`, a resource `{text, data, contents}`, a prompt
`{text, description, messages}`, a list itself by its name. What is inside is spelt as the protocol
spells it.
"""

from collections.abc import Iterable
from typing import Any

import mcp_types as types

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.strict_json import strict_json

_LISTS = (dict, list)


def of_tool(result: types.CallToolResult) -> dict[str, Json]:
    """Return what a tool gave; `data` is its structured content, else what its text says."""
    text = text_of(result.content)
    if result.structured_content is not None:
        data = result.structured_content
    else:
        only_text = all(isinstance(one, types.TextContent) for one in result.content)
        data = _said_in(text) if only_text and len(result.content) == 1 else text
    return {"text": text, "data": data, "content": plain(result.content)}


def of_resource(result: types.ReadResourceResult) -> dict[str, Json]:
    """Return a resource; `data` is what its JSON says, else its text, else its bytes in base64."""
    texts = [one.text for one in result.contents if isinstance(one, types.TextResourceContents)]
    text = "\n".join(texts)
    data: Json = text
    if len(result.contents) == 1:
        (only,) = result.contents
        if isinstance(only, types.BlobResourceContents):
            data = only.blob
        elif "json" in (only.mime_type or "").lower():
            data = _said_in(text)
    return {"text": text, "data": data, "contents": plain(result.contents)}


def of_prompt(result: types.GetPromptResult) -> dict[str, Json]:
    """Return a prompt; `text` is that of its messages, one after another."""
    text = text_of(one.content for one in result.messages)
    messages = plain(result.messages)
    return {"text": text, "description": result.description, "messages": messages}


def of_list(kind: str, found: Iterable[Any]) -> dict[str, Json]:
    """Return everything of a kind that a server has."""
    return {kind: plain(found)}


def text_of(content: Iterable[Any]) -> str:
    """Return the texts in some content, the embedded ones too, one below the other."""
    found = []
    for one in content:
        if isinstance(one, types.TextContent):
            found.append(one.text)
        elif isinstance(one, types.EmbeddedResource):
            found.append(getattr(one.resource, "text", ""))
    return "\n".join(filter(None, found))


def plain(models: Iterable[Any]) -> list[Json]:
    """Return models of the SDK as JSON, without what is not set."""
    return [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in models]


def _said_in(text: str) -> Json:
    """Return the object or list that a text spells, else the text: `7` may be meant as text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        found = strict_json(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, _LISTS) else text


__all__ = ["of_list", "of_prompt", "of_resource", "of_tool", "plain", "text_of"]
