"""The floorplan task: draw, check, change, measure or export a plan, here or at an MCP server.

    render    {rooms, summary, …, image} with a PNG in base64, or {…, svg}
    validate  {valid, errors, warnings}
    modify    {dsl, changes}
    analyze   {summary, floors, rooms}
    to_json   {plan}, to_dxf {dxf}, to_ifc {ifc}

A plan that is wrong fails every action but `validate`, and its errors are the failure's details.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from noetl_mcp.bim.floorplan.answer import Answer
from noetl_mcp.cuts import beginning
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.strict_json import strict_json
from noetl_mcp.tasks import file_storage as storage
from noetl_mcp.tasks.calls import Call, Failed, Task
from noetl_mcp.tasks.folders import Folders, told
from noetl_mcp.tasks.specs_floorplan import FloorplanSettings

MOST_BYTES = 2_000_000
_TOOLS = {
    "render": "render_floorplan",
    "validate": "validate_floorplan",
    "modify": "modify_floorplan",
    "analyze": "analyze_floorplan",
    "to_json": "export_floorplan",
    "to_dxf": "export_floorplan",
    "to_ifc": "export_floorplan",
}
_TAKES: Mapping[str, tuple[str, ...]] = {
    "render": (
        *("format", "width", "height", "floor", "all_floors", "layout", "theme", "raw"),
        *("show_area", "show_dimensions", "show_summary", "area_unit", "length_unit"),
    ),
    "validate": ("raw",),
    "modify": ("operations", "atomic"),
    "analyze": ("area_unit", "room_details", "raw"),
    "to_json": ("raw",),
    "to_dxf": ("raw",),
    "to_ifc": ("storey_height", "raw"),
}
_CALLED = {
    "floor": "floorIndex",
    "all_floors": "renderAllFloors",
    "layout": "multiFloorLayout",
    "show_area": "showArea",
    "show_dimensions": "showDimensions",
    "show_summary": "showFloorSummary",
    "area_unit": "areaUnit",
    "length_unit": "lengthUnit",
    "room_details": "includeRoomDetails",
    "storey_height": "storeyHeight",
}
_FORMATS = ("svg", "dxf", "ifc")
_MOST_TOLD = 3
_LONGEST_SAID = 1_000
_MOST_ITEMS = 1_000


class Floorplan:
    """Does one thing with one plan. `mcp` makes the task that asks servers."""

    def __init__(
        self, *, folders: Iterable[Path | str] = (), mcp: Callable[[], Task], most_at_once: int = 2
    ) -> None:
        self._folders = Folders(folders)
        self._mcp = mcp
        self._turns = asyncio.Semaphore(most_at_once)

    async def execute(self, call: Call) -> Json:
        """Do what a step asks for and return what came of it."""
        settings: FloorplanSettings = call.settings
        text = await asyncio.to_thread(self._text, call)
        given = {"dsl": text, **arguments(settings)}
        if settings.endpoint is not None:
            return _outcome(settings.action, await self._asked(call, given))
        async with self._turns:
            return _outcome(settings.action, await asyncio.to_thread(_done, settings.action, given))

    async def close(self) -> None:
        """Nothing is kept open; sessions belong to the task that asks servers."""

    def _text(self, call: Call) -> str:
        settings: FloorplanSettings = call.settings
        if settings.dsl is not None:
            return settings.dsl
        if settings.path is not None:
            place = self._folders.place(settings.path)
            with told(settings.path):
                content = storage.read(place, MOST_BYTES)
            return _decoded(content, settings.path)
        found = call.input.get("dsl") if isinstance(call.input, Mapping) else None
        if isinstance(found, str):
            return found
        said = "there is no plan: say 'dsl' or 'path', or give 'dsl' in the input"
        raise Failed("no-plan", said, retriable=False)

    async def _asked(self, call: Call, given: Mapping[str, Any]) -> Answer:
        """Let a server do it; its answer is what a tool here would have said."""
        from noetl_mcp.tasks.specs_web import McpSettings

        settings: FloorplanSettings = call.settings
        told_mcp = McpSettings(
            url=settings.endpoint,
            headers=settings.headers,
            connect_timeout=settings.connect_timeout,
            tool=_TOOLS[settings.action],
            arguments=dict(given),
        )
        got = await self._mcp().execute(replace(call, settings=told_mcp))
        assert isinstance(got, dict)
        return _from_server(settings.action, got)


def arguments(settings: FloorplanSettings) -> dict[str, Any]:
    """Return what the tool is told besides the plan."""
    found = {name: getattr(settings, name) for name in _TAKES[settings.action]}
    named = {_CALLED.get(name, name): value for name, value in found.items() if value is not None}
    if settings.action == "modify":
        named.setdefault("operations", [])
    if settings.action.startswith("to_"):
        named["format"] = settings.action.removeprefix("to_")
    return named


def _done(action: str, given: Mapping[str, Any]) -> Answer:
    from noetl_mcp.bim.floorplan.tool_arguments import WrongArguments
    from noetl_mcp.bim.floorplan.tools import tool

    found = tool(_TOOLS[action])
    assert found is not None
    try:
        return found.call(given)
    except WrongArguments as wrong:
        raise Failed("wrong-arguments", str(wrong), retriable=False) from None


def _from_server(action: str, got: Mapping[str, Any]) -> Answer:
    """Return the answer of a tool at a server; any server that speaks as ours does will do."""
    facts, picture, text = got.get("data"), None, None
    content = got.get("content") or []
    if len(content) > _MOST_ITEMS:
        raise Failed("wrong-answer", f"the server's answer has more than {_MOST_ITEMS} parts")
    for one in content:
        if one.get("type") == "image":
            picture = _picture(one.get("data"))
        elif one.get("type") == "text":
            said = _json(one["text"])
            if isinstance(said, dict):
                facts = said
            else:
                text = one["text"]
    if not isinstance(facts, dict) or not _is_ours(action, facts):
        raise Failed("wrong-answer", "the server did not answer as a floor plan server does")
    answer = Answer(facts, picture, text)
    if facts.get("success") is True and not _has_it_all(action, answer):
        raise Failed("wrong-answer", f"the server's answer has nothing of what '{action}' asks for")
    return answer


def _has_it_all(action: str, answer: Answer) -> bool:
    """Say whether an answer has what was asked for."""
    match action:
        case "render":
            return answer.picture is not None or answer.text is not None
        case "to_dxf" | "to_ifc":
            return answer.text is not None
        case "modify":
            return isinstance(answer.facts.get("dsl"), str)
        case "to_json":
            return isinstance(answer.facts.get("plan"), dict)
        case "analyze":
            return isinstance(answer.facts.get("summary"), dict)
    return True


def _is_ours(action: str, facts: Mapping[str, Any]) -> bool:
    """Say whether facts have the shape of what the tools here answer, whoever made them."""
    errors = facts.get("errors") or []
    are_told = isinstance(errors, list) and all(isinstance(one, dict) for one in errors)
    return are_told and isinstance(facts.get("valid" if action == "validate" else "success"), bool)


def _picture(said: object) -> bytes:
    try:
        return b64decode(str(said), validate=True)
    except ValueError:
        raise Failed("wrong-answer", "the server's picture is not in base64") from None


def _json(text: str) -> object:
    try:
        return strict_json(text)
    except (ValueError, RecursionError):
        return None


def _outcome(action: str, answer: Answer) -> Json:
    """Return the step's result, or fail with what is wrong with the plan."""
    facts = dict(answer.facts)
    if action == "validate":
        return facts
    if facts.pop("success", None) is not True:
        raise _failed(action, facts)
    if answer.picture is not None:
        facts["image"] = b64encode(answer.picture).decode()
    if answer.text is not None:
        form = facts.get("format")
        facts[form if form in _FORMATS else "text"] = answer.text
    return facts


def _failed(action: str, facts: Mapping[str, Any]) -> Failed:
    errors = facts.get("errors") or [{"message": "the plan is wrong"}]
    said = "; ".join(_said(one) for one in errors[:_MOST_TOLD])
    more = f"; and {len(errors) - _MOST_TOLD} more" if len(errors) > _MOST_TOLD else ""
    code = "not-applied" if action == "modify" else "wrong-plan"
    return Failed(code, said + more, retriable=False, details=dict(facts))


def _said(error: Mapping[str, Any]) -> str:
    line, column = error.get("line"), error.get("column")
    where = f"line {line}:{column}: " if isinstance(line, int) and isinstance(column, int) else ""
    return where + beginning(str(error.get("message", "")), _LONGEST_SAID)


def _decoded(content: bytes, path: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        said = f"'{path}' is no text in UTF-8: byte {wrong.start} cannot be read"
        raise Failed("no-text", said, retriable=False) from None


__all__ = ["Floorplan", "arguments"]
