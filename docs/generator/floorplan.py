"""The page about the language of floor plans: its text for models, and where each word is known."""

from collections.abc import Iterator, Mapping
from typing import Any

from generator.markdown import code, codes, page, table
from generator.parts import filled
from noetl_mcp.bim.floorplan.schema_text import schema_text
from noetl_mcp.bim.floorplan.tools import TOOLS
from noetl_mcp.bim.floorplan.words import WORDS

_MEANINGS = {
    "wall_kinds": "types of walls",
    "sides": "sides of rooms and stairs",
    "directions": "relative positions",
    "alignments": "alignments",
    "units": "units",
    "area_units": "units of areas",
    "room_kinds": "rooms",
    "stair_shapes": "shapes of stairs",
    "hands": "hands of turns and swings",
    "rotations": "rotations of spirals",
    "handrails": "handrails",
    "stringers": "stringers",
    "material_parts": "parts of a stair's material",
    "connection_kinds": "kinds of connections",
    "themes": "themes",
    "codes": "codes of stairs",
    "flags": "true and false",
    "document_keys": "keys of the frontmatter",
    "config_keys": "keys of the config",
    "style_keys": "keys of a style",
    "structure": "what begins a clause",
}


def language_page() -> str:
    """Return the page about the language."""
    put = {"language": _language, "mapping": _mapping}
    return page("The language of floor plans", filled("floorplan-language.md", put))


def _language() -> str:
    """Return the text of the resource without its title."""
    return schema_text().split("\n", 2)[2].strip()


def _mapping() -> str:
    """Return a table of all tables of words and of the arguments that take them."""
    taken = arguments()
    keys = {"config_keys": tuple(key.name for key in WORDS.config_keys)}
    rows = []
    for name, words in WORDS.tables.items():
        places = taken.get(frozenset(keys.get(name, words)), ())
        rows.append((_MEANINGS[name], code(name), codes(words), codes(places) or "-"))
    return table(("what", "table in `words.py`", "words", "arguments of the tools"), rows)


def arguments() -> Mapping[frozenset[str], list[str]]:
    """Return where the published schemas take the words of a list, or have them as keys."""
    taken: dict[frozenset[str], list[str]] = {}
    for tool in TOOLS:
        for words, place in _lists(tool.input_schema, tool.name):
            places = taken.setdefault(frozenset(words), [])
            if place not in places:
                places.append(place)
    return taken


def _lists(schema: Any, place: str) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(schema, list):
        for one in schema:
            yield from _lists(one, place)
    if not isinstance(schema, dict):
        return
    if "enum" in schema:
        yield tuple(schema["enum"]), place
    keys = schema.get("properties", {})
    if keys:
        yield tuple(keys), f"{place} (keys)"
    for name, one in (*keys.items(), *schema.get("$defs", {}).items()):
        yield from _lists(one, name if name in schema.get("$defs", {}) else f"{place}.{name}")
    for name in ("items", "anyOf", "oneOf", "allOf", "additionalProperties", "prefixItems"):
        yield from _lists(schema.get(name), place)
