"""Do the operations on connections: add, change, remove.

A connection is told by its two ends, in any order. It refuses ends that no room bears.
"""

import re
from collections.abc import Iterator
from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.edit import building_operations, fields, writing
from noetl_mcp.bim.floorplan.edit.common_walls import with_walls
from noetl_mcp.bim.floorplan.edit.places import Node, last_line
from noetl_mcp.bim.floorplan.edit.references import into_out, written
from noetl_mcp.bim.floorplan.edit.sheet import Edit, Outcome, Refused, Sheet, replaced, room_at
from noetl_mcp.bim.floorplan.words import OUTSIDE

_ORDER = ("kind", "at", "size", "opens_into", "swing")


def _is_there(sheet: Sheet, end: str) -> None:
    name = end.split(".")[0]
    if name != OUTSIDE and room_at(sheet.plan, name) is None:
        raise Refused(f'Room "{name}" not found')


def add_connection(sheet: Sheet, asked: building_operations.AddConnection) -> Outcome:
    """Add a connection behind the others, through the walls that its rooms share."""
    params = asked.params
    for end in (params.from_, params.to, params.opens_into):
        if end is not None:
            _is_there(sheet, end)
    if params.from_.split(".")[0] == params.to.split(".")[0]:
        raise Refused(f'"{params.from_}" cannot be connected to itself')
    params = with_walls(sheet, params)
    plan = sheet.plan
    before: list[Node] = [*plan.floors] if plan.floors else [*plan.defines, *plan.styles]
    edit = last_line(sheet, writing.connection(params), plan.connections, before)
    ends = f"{params.from_} to {params.to}"
    is_chosen = params is not asked.params
    return Outcome(
        f"{asked.params.from_} to {asked.params.to}",
        (edit,),
        f"Connected {ends}, which they share" if is_chosen else None,
    )


def the_connection(sheet: Sheet, target: str, which: int | None) -> tree.Connection:
    """Return the connection between two ends; refuse when there is none, or more than one."""
    ends = target.split(" to ")
    first, second = (end.strip() for end in ends)
    every = [
        one
        for one in sheet.plan.connections
        if (_is_end(one.first, first) and _is_end(one.second, second))
        or (_is_end(one.first, second) and _is_end(one.second, first))
    ]
    if not every:
        raise Refused(f'Connection "{target}" not found')
    if which is None and len(every) > 1:
        raise Refused(
            f'There are {len(every)} connections "{target}": say which (1 is the first), or name '
            "their walls"
        )
    if which is not None and which > len(every):
        raise Refused(f'There is no connection {which} "{target}", but {len(every)}')
    return every[(which or 1) - 1]


def _is_end(wall: tree.WallOf, asked: str) -> bool:
    room, _, side = asked.partition(".")
    return wall.room.text == room and (not side or wall.side == side)


def remove_connection(sheet: Sheet, asked: building_operations.RemoveConnection) -> Outcome:
    """Remove a connection."""
    which = None if asked.params is None else asked.params.which
    found = the_connection(sheet, asked.target, which)
    return Outcome(asked.target, (sheet.without(found.start, found.end),))


def update_connection(sheet: Sheet, asked: building_operations.UpdateConnection) -> Outcome:
    """Change the clauses of a connection that are given; null takes one away."""
    params = asked.params
    found = the_connection(sheet, asked.target, params.which)
    given = fields.given_in(params) - {"which"}
    if not given:
        raise Refused(fields.choices(params, "which"))
    spans = dict(_spans(sheet, found))
    edits: list[Edit] = []
    for word in (word for word in _ORDER if word in given):
        said = _written(params, word)
        if word == "kind" and said is None:
            raise Refused("A connection cannot be without a kind")
        if word == "opens_into" and params.opens_into is not None:
            _is_there(sheet, params.opens_into)
        edits += _clause(sheet, found, spans, word, said)
    return Outcome(asked.target, tuple(edits), f"Changed {written(found)}" if edits else None)


def _clause(
    sheet: Sheet,
    found: tree.Connection,
    spans: dict[str, tuple[int, int]],
    word: str,
    said: str | None,
) -> list[Edit]:
    """Change, add or take away one clause."""
    into = found.opens_into
    if word == "opens_into" and into is not None:
        asked = said.removeprefix("opens into ") if said else None
        return [into_out(sheet, found, into) if asked is None else replaced(into, asked)]
    span = spans.get(word)
    if span is not None:
        return [sheet.clause_out(*span) if said is None else Edit(*span, said)]
    if said is None:
        return []
    before = _ORDER[: _ORDER.index(word)]
    after = max(spans[one][1] for one in before if one in spans)
    return [sheet.clause_in(after, said)]


def _written(params: building_operations.ConnectionChange, word: str) -> str | None:
    value = getattr(params, word)
    if value is None:
        return None
    if word == "at":
        return f"at {writing.number(value)}%"
    if word == "size":
        return f"size {writing.size(value)}"
    starts = {"opens_into": "opens into ", "swing": "swing: "}
    return f"{starts.get(word, '')}{value}"


def _spans(sheet: Sheet, found: tree.Connection) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield where the clauses of a connection stand."""
    signs = sheet.signs(found.second.end, found.end)
    yield "kind", (signs[0].start, signs[0].end)
    if found.size is not None:
        yield "size", (found.size.start, found.size.end)
    if found.opens_into is not None:
        yield "opens_into", (found.opens_into.start, found.opens_into.end)
    for index, sign in enumerate(signs):
        if sign.text == "at" and re.match(r"[0-9]", signs[index + 1].text):
            yield "at", (sign.start, signs[index + 2].end)
        if sign.text == "swing":
            yield "swing", (sign.start, signs[index + 2].end)


DOES: dict[type[Any], Any] = {
    building_operations.AddConnection: add_connection,
    building_operations.UpdateConnection: update_connection,
    building_operations.RemoveConnection: remove_connection,
}
