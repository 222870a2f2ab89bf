"""Read an answer that comes piece by piece, as server-sent events, and put it together. Pure.

What is put together has the form that the wire has without a stream, so each wire reads both. A
stream that breaks off before the model has ended is no answer.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from noetl_mcp.cuts import beginning
from noetl_mcp.tasks.models.said import BrokenOff, NoAnswer, as_text

_END = "[DONE]"
_LINE = re.compile(r"\r\n|\n|\r")
_DECODER = getincrementaldecoder("utf-8")


class Events:
    """Takes bytes as they come and gives the `data` of each event that is whole."""

    def __init__(self) -> None:
        self._decoder = _DECODER("replace")
        self._open: list[str] = []
        """The line that has not ended."""
        self._data: list[str] = []
        """The lines of the event that has not ended."""

    def feed(self, piece: bytes, *, is_last: bool = False) -> list[str]:
        """Return what has become whole."""
        text = self._decoder.decode(piece, is_last)
        if self._open and self._open[-1].endswith("\r"):
            text = self._open.pop() + text
        if text.endswith("\r") and not is_last:  # a line feed may follow that belongs to it
            self._open.append(text)
            return []
        begun, *rest = _LINE.split(text)
        self._open.append(begun)
        found = list[str]()
        for line in rest:
            self._take("".join(self._open), found)
            self._open = [line]
        if is_last:
            self._take("".join(self._open), found)
            self._take("", found)
        return found

    def _take(self, line: str, found: list[str]) -> None:
        if not line:
            if self._data:
                found.append("\n".join(self._data))
            self._data = []
            return
        field, _, value = line.partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))


def spoken(data: str) -> str:
    """Return what an event adds to the text of an answer."""
    try:
        chunk = orjson.loads(data)
    except ValueError:
        return ""
    if not isinstance(chunk, dict):
        return ""
    told = _delta(chunk) if "choices" in chunk else chunk
    return as_text(told.get("content"))


def whole(text: str) -> Any:
    """Return the whole answer; a server may also send it in one piece, as if nobody had asked."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            return orjson.loads(text)
        except ValueError as broken:
            raise NoAnswer(f"the answer is no JSON: {broken}") from None
    events = Events().feed(text.encode("utf-8", "replace"), is_last=True)
    if not events:
        raise NoAnswer("the answer is neither JSON nor a stream of events")
    chunks, has_ended = list[dict[str, Any]](), False
    for data in events:
        if data.strip() == _END:
            has_ended = True
            break
        chunks.append(_chunk(data))
    return _together(chunks, has_ended=has_ended)


def _chunk(data: str) -> dict[str, Any]:
    try:
        chunk = orjson.loads(data)
    except ValueError as broken:
        raise BrokenOff(f"a piece of the stream is no JSON: {broken}") from None
    if not isinstance(chunk, dict):
        raise NoAnswer("a piece of the stream is no JSON object")
    if chunk.get("error"):
        raise BrokenOff(
            f"the stream says: {beginning(orjson.dumps(chunk['error']).decode(), 1_000)}"
        )
    return chunk


def _together(chunks: Iterable[Mapping[str, Any]], *, has_ended: bool) -> dict[str, Any]:
    """Return one answer, flat, or in the form of OpenAI when its pieces have that."""
    content, refusal, calls = list[str](), list[str](), _Calls()
    last: dict[str, Any] = {"usage": None, "finish_reason": None}
    is_openai = False
    for chunk in chunks:
        is_openai = is_openai or "choices" in chunk
        told = _delta(chunk) if "choices" in chunk else chunk
        content.append(as_text(told.get("content")))
        refusal.append(as_text(told.get("refusal")))
        calls.add(told.get("tool_calls"), in_pieces="choices" in chunk)
        for name, value in (("usage", chunk.get("usage")), ("finish_reason", _reason(chunk))):
            if value is not None:
                last[name] = value
    if last["finish_reason"] is None and not has_ended:
        raise BrokenOff("the stream ended before the answer did")
    message: dict[str, Any] = {"content": "".join(content), "refusal": "".join(refusal)}
    if calls.made:
        message["tool_calls"] = list(calls.made.values())
    if not is_openai:
        return {**message, **last}
    choice = {"message": message, "finish_reason": last["finish_reason"]}
    return {"choices": [choice], "usage": last["usage"]}


class _Calls:
    """The calls of tools in a stream: whole ones, or pieces that are told apart by `index`."""

    def __init__(self) -> None:
        self.made: dict[Any, dict[str, Any]] = {}

    def add(self, told: Any, *, in_pieces: bool) -> None:
        """Take what one piece of the stream tells."""
        for one in told if isinstance(told, list) else ():
            if not isinstance(one, dict):
                continue
            if in_pieces:
                self._piece(one)
            else:
                self.made[len(self.made)] = one

    def _piece(self, one: Mapping[str, Any]) -> None:
        index, id_ = one.get("index"), one.get("id")
        if not isinstance(index, int):
            is_next = bool(id_) and all(call["id"] != id_ for call in self.made.values())
            index = len(self.made) if is_next or not self.made else next(reversed(self.made))
        call = self.made.setdefault(index, {"id": None, "function": {}})
        call["id"] = call["id"] or id_
        function = one.get("function")
        told = function if isinstance(function, dict) else {}
        kept = call["function"]
        kept["name"] = kept.get("name") or told.get("name")
        arguments, before = told.get("arguments"), kept.get("arguments")
        is_more = isinstance(before, str) and isinstance(arguments, str)
        if is_more:
            kept["arguments"] = before + arguments
        elif arguments is not None:
            kept["arguments"] = arguments


def _choice(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice; the last piece of a stream may have none, but the usage."""
    choices = chunk["choices"]
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _delta(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    choice = _choice(chunk)
    delta = choice.get("delta", choice.get("message"))
    return delta if isinstance(delta, dict) else {}


def _reason(chunk: Mapping[str, Any]) -> Any:
    told = _choice(chunk) if "choices" in chunk else chunk
    return told.get("finish_reason")


__all__ = ["Events", "spoken", "whole"]
