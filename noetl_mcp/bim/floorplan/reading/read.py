"""Reads a whole plan. It never refuses: what could be read is there, and the errors beside it."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from noetl_mcp.bim.floorplan import frontmatter
from noetl_mcp.bim.floorplan.findings import Finding, Lines
from noetl_mcp.bim.floorplan.reading.connections import connection, connection_clauses, vertical
from noetl_mcp.bim.floorplan.reading.cursor import Clauses, Cursor, Lost
from noetl_mcp.bim.floorplan.reading.properties import config, define, style
from noetl_mcp.bim.floorplan.reading.rooms import floor, lift_clauses, room_clauses
from noetl_mcp.bim.floorplan.reading.stairs import stair_clauses
from noetl_mcp.bim.floorplan.tree import Config, Plan, Property, Version
from noetl_mcp.bim.floorplan.words import WORDS, Words


class Reading(NamedTuple):
    """What a text says, as far as it could be read; `errors` are in order of their places."""

    plan: Plan
    errors: tuple[Finding, ...]
    lines: Lines


def read(text: str, words: Words = WORDS) -> Reading:
    """Read a text in the language of these words."""
    header = frontmatter.header(text, words)
    c = Cursor(text, words, _grammar(words), header.end)
    version = header.version or _directive(c)
    start = _floorplan(c)
    things = _things(c)
    plan = Plan(
        text,
        version,
        header.properties,
        tuple(things["define"]),
        tuple(things["style"]),
        _merged(things["config"], header, words),
        tuple(things["floor"]),
        tuple(things["connect"]),
        tuple(things["vertical"]),
        start,
    )
    errors = sorted((*header.errors, *c.errors), key=lambda found: found.start or 0)
    return Reading(plan, tuple(errors), Lines(text))


@cache
def _grammar(words: Words) -> Mapping[str, Clauses]:
    return {
        "room": room_clauses(words),
        "stair": stair_clauses(words),
        "lift": lift_clauses(words),
        "connection": connection_clauses(words),
    }


def _directive(c: Cursor) -> Version | None:
    """Read `%%{version: 1.0}%%`, if it stands here."""
    if not c.passes("%%{"):
        return None
    try:
        c.take("version")
        c.take(":")
        version = _version(c)
        c.take("}%%")
    except Lost:
        c.skip(("}%%", "floorplan"))
        c.passes("}%%")
        return None
    return version


def _version(c: Cursor) -> Version:
    """Read a version; without quotes its third part is a sign of its own."""
    start = c.start
    found = frontmatter.VERSION.match(c.text, start)
    if found is None:
        raise c.lost('a version such as 1.0 or "1.0.0"')
    while c.ends[c.i] < found.end():
        c.i += 1
    c.i += 1
    return Version(found[0].strip('"'), "directive", start, found.end())


def _floorplan(c: Cursor) -> int:
    """Step over the word with which every plan begins, and return where it stands."""
    if c.texts[c.i] != "floorplan":
        c.expected("'floorplan'")
        c.skip(("floorplan", "style"))
    start = c.start
    c.passes("floorplan")
    return start


_THINGS: Mapping[str, Callable[[Cursor], Any]] = {
    "define": define,
    "style": style,
    "config": config,
    "floor": floor,
    "connect": connection,
    "vertical": vertical,
}


def _things(c: Cursor) -> dict[str, list[Any]]:
    """Read everything that stands on its own, in any order, to the end of the text."""
    things: dict[str, list[Any]] = {word: [] for word in _THINGS}
    while sign := c.texts[c.i]:
        read_one = _THINGS.get(sign)
        if read_one is None:
            c.expected("something that a plan can have", tuple(_THINGS))
            while c.texts[c.i] and c.texts[c.i] not in _THINGS:
                c.i += 1
            continue
        if sign == "config" and things["config"]:
            c.found("said-twice", "A plan has one config.", c.start, c.ends[c.i], ())
        try:
            things[sign].append(read_one(c))
        except Lost:
            c.skip(("style",))
    return things


def _merged(inline: list[Config], header: frontmatter.Header, words: Words) -> Config | None:
    """Put the config of the frontmatter before that of the text: the last one to speak wins."""
    if header.config is None:
        return inline[0] if inline else None
    if not inline:
        return header.config
    named = {spelling: key for key in words.config_keys for spelling in key.spellings}
    said = {named[found.key] for found in inline[0].properties}
    kept: list[Property] = [p for p in header.config.properties if named[p.key] not in said]
    return inline[0]._replace(properties=(*kept, *inline[0].properties))
