"""The words of the language of floor plans, each said once. It refuses to know where they stand.

Scanner, parser, JSON schemas, models of edits, the text of the schema and the reference are built
from these tables. They are values: whoever wants to know what a new word would change builds a
changed copy (`replace(WORDS, wall_kinds=(..., "glass"))`) and hands it on.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from typing import NamedTuple

VERSION = "1.0.0"


class ConfigKey(NamedTuple):
    """A key of `config`: its two spellings and the kind of value that it means."""

    name: str
    kind: str
    meaning: str

    @property
    def camel(self) -> str:
        """The other spelling: `wall_thickness` is `wallThickness`, too."""
        first, *more = self.name.split("_")
        return first + "".join(part.capitalize() for part in more)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Both spellings, or the one where they are the same."""
        return (self.name,) if self.name == self.camel else (self.name, self.camel)


class StyleKey(NamedTuple):
    """A key of a `style` and the kind of value that it means."""

    name: str
    kind: str
    meaning: str


_CONFIG_KEYS = (
    ConfigKey("wall_thickness", "number", "thickness of all walls"),
    ConfigKey("floor_thickness", "number", "thickness of the slab under each floor"),
    ConfigKey("default_height", "number", "height of rooms and floors that name none"),
    ConfigKey("door_width", "number", "width of doors that name none"),
    ConfigKey("door_height", "number", "height of doors that name none"),
    ConfigKey("window_width", "number", "width of windows that name none"),
    ConfigKey("window_height", "number", "height of windows that name none"),
    ConfigKey("window_sill", "number", "height of the sill above the floor"),
    ConfigKey("door_size", "size", "width and height of doors; wins over the two single keys"),
    ConfigKey("window_size", "size", "width and height of windows; wins over the two single keys"),
    ConfigKey("default_style", "style", "style of rooms that name none"),
    ConfigKey("default_unit", "unit", "unit of numbers that name none"),
    ConfigKey("area_unit", "area_unit", "unit in which areas are written"),
    ConfigKey("theme", "theme", "colours of the drawing"),
    ConfigKey("dark_mode", "flag", "true draws with the dark theme"),
    ConfigKey("show_labels", "flag", "false leaves names and labels out of the drawing"),
    ConfigKey("show_dimensions", "flag", "true draws dimension chains"),
    ConfigKey("font_family", "string", "font of the drawing"),
    ConfigKey("font_size", "number", "size of the letters, in units of the plan"),
    ConfigKey("stair_code", "code", "building code against which stairs are judged"),
)

_STYLE_KEYS = (
    StyleKey("floor_color", "color", "colour of the floor"),
    StyleKey("wall_color", "color", "colour of the walls"),
    StyleKey("floor_texture", "string", "texture of the floor, for models in three dimensions"),
    StyleKey("wall_texture", "string", "texture of the walls, for models in three dimensions"),
    StyleKey("roughness", "number", "0 is a mirror, 1 is matt"),
    StyleKey("metalness", "number", "0 is no metal, 1 is metal"),
)

# fmt: off
_STRUCTURE = (
    "floorplan", "define", "style", "config", "floor", "room", "sub-room", "at", "size",
    "height", "elevation", "walls", "gap", "align", "label", "composed", "of", "connect", "to",
    "outside", "full", "opens", "into", "swing", "stair", "shape", "rise", "width", "riser",
    "tread", "nosing", "headroom", "handrail", "stringers", "stringer", "material", "toward",
    "from", "turn", "runs", "landing", "rotation", "inner-radius", "outer-radius", "arc",
    "radius", "winders", "flight", "along", "lift", "doors", "vertical", "x",
)
# fmt: on


@dataclass(frozen=True)
class Words:
    """All tables; `replace` makes a copy with other words."""

    wall_kinds: tuple[str, ...] = ("solid", "door", "window", "open")
    sides: tuple[str, ...] = ("top", "right", "bottom", "left")
    directions: tuple[str, ...] = (
        "right-of",
        "left-of",
        "above",
        "below",
        "above-right-of",
        "above-left-of",
        "below-right-of",
        "below-left-of",
    )
    alignments: tuple[str, ...] = ("top", "bottom", "left", "right", "center")
    units: tuple[str, ...] = ("m", "ft", "cm", "in", "mm")
    area_units: tuple[str, ...] = ("sqft", "sqm")
    room_kinds: tuple[str, ...] = ("room", "sub-room")
    stair_shapes: tuple[str, ...] = (
        "straight",
        "L-shaped",
        "U-shaped",
        "double-L",
        "spiral",
        "curved",
        "winder",
        "custom",
    )
    hands: tuple[str, ...] = ("left", "right")
    rotations: tuple[str, ...] = ("clockwise", "counterclockwise")
    handrails: tuple[str, ...] = ("left", "right", "both", "inner", "outer", "none")
    stringers: tuple[str, ...] = ("open", "closed", "glass")
    material_parts: tuple[str, ...] = ("tread", "riser", "stringer", "handrail")
    connection_kinds: tuple[str, ...] = ("door", "double-door", "opening")
    themes: tuple[str, ...] = ("default", "dark", "blueprint")
    codes: tuple[str, ...] = ("residential", "commercial", "ada", "none")
    flags: tuple[str, ...] = ("true", "false")
    document_keys: tuple[str, ...] = ("version", "title", "description", "author")
    config_keys: tuple[ConfigKey, ...] = _CONFIG_KEYS
    style_keys: tuple[StyleKey, ...] = _STYLE_KEYS
    structure: tuple[str, ...] = _STRUCTURE

    @cached_property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """Every table of plain words by its name; keys of config in all their spellings."""
        plain = [field.name for field in fields(self) if not field.name.endswith("_keys")]
        tables = {name: getattr(self, name) for name in plain}
        tables["document_keys"] = self.document_keys
        tables["config_keys"] = tuple(
            chain.from_iterable(key.spellings for key in self.config_keys)
        )
        tables["style_keys"] = tuple(key.name for key in self.style_keys)
        return tables

    def may_name(self, text: str) -> bool:
        """Say whether a text can be the name of a room, a floor or a style.

        No word of the language can, wherever it stands: other programs read the same plans.
        """
        return text.isidentifier() and text.isascii() and text not in self.reserved

    @cached_property
    def reserved(self) -> frozenset[str]:
        """What can be no name."""
        return frozenset(self.keywords)

    @cached_property
    def config_words(self) -> frozenset[str]:
        """The words that can be values of the config."""
        return frozenset((*self.area_units, *self.themes, *self.codes))

    @cached_property
    def keywords(self) -> tuple[str, ...]:
        """Every word that has a meaning somewhere, each once, in order of the tables."""
        return tuple(dict.fromkeys(chain.from_iterable(self.tables.values())))


WORDS = Words()

WALL_KINDS = WORDS.wall_kinds
SIDES = WORDS.sides
DIRECTIONS = WORDS.directions
ALIGNMENTS = WORDS.alignments
UNITS = WORDS.units
AREA_UNITS = WORDS.area_units
STAIR_SHAPES = WORDS.stair_shapes
HANDS = WORDS.hands
ROTATIONS = WORDS.rotations
HANDRAILS = WORDS.handrails
STRINGERS = WORDS.stringers
MATERIAL_PARTS = WORDS.material_parts
CONNECTION_KINDS = WORDS.connection_kinds
THEMES = WORDS.themes
CODES = WORDS.codes
CONFIG_KEYS = WORDS.config_keys
STYLE_KEYS = WORDS.style_keys
KEYWORDS = WORDS.keywords
OUTSIDE = "outside"
