"""Tells the language in Markdown, for whoever is to write plans: the resource `floorplan://schema`.

Every list of words in it is made from `words.py`. It refuses to be a tutorial.
"""

from collections.abc import Iterable

from noetl_mcp.bim.floorplan.examples import EXAMPLES
from noetl_mcp.bim.floorplan.words import VERSION, WORDS, Words

_KINDS = {
    "number": "number",
    "size": "`(w x h)`",
    "style": "name of a style",
    "unit": "unit",
    "area_unit": "unit of area",
    "theme": "theme",
    "flag": "true or false",
    "string": "text in quotes",
    "color": "colour in quotes",
    "code": "code",
}


def schema_text(words: Words = WORDS) -> str:
    """Return the whole text."""
    parts = (
        _structure(words),
        _lexical(words),
        _rooms(words),
        _walls(words),
        _relations(words),
        _composed(),
        _connections(words),
        _defines_and_styles(words),
        _config(words),
        _stairs(words),
        _lifts(words),
        _versions(words),
        _examples(),
    )
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _all(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join((*lines, *("| " + " | ".join(row) + " |" for row in rows)))


def _structure(words: Words) -> str:
    return f"""
# Floor plan language {VERSION}

A plan is text. It begins with the word `floorplan`; everything else stands behind it.

```text
%%{{version: 1.0}}%%                 the version, optional but better
floorplan
  define NAME (W x H)               sizes by name
  style NAME {{ key: value, ... }}    colours
  config {{ key: value, ... }}        what holds for the whole plan, once
  floor NAME [height H] {{
    room ...                        rooms
    stair ...                       stairs
    lift ...                        lifts
  }}
  connect ROOM.side to ROOM.side KIND ...      doors and openings between rooms
  vertical FLOOR.NAME to FLOOR.NAME            stairs and lifts through floors
```

Things may stand in any order, and so may the clauses of one thing. `x` grows to the right, `y`
grows downwards, `(0, 0)` is the corner at the top left."""


def _lexical(words: Words) -> str:
    return f"""
## Names, numbers, texts

- Names: letters, digits and `_`, not beginning with a digit. Words that begin a clause (`room`,
  `at`, `size`, `label`, ...) and `outside` are no names.
- Numbers: `10`, `9.5`; no sign, no exponent. A unit may follow: {_all(words.units)}, as in `9.5ft`.
  Without one, `default_unit` of the config holds.
- Sizes: `(10 x 12)`, with spaces around the `x`. Positions: `(0, 4)`.
- Texts: in `"` or `'`; `\\n` is a new line in them, and `\\\\` a backslash.
- Comments: `# to the end of the line`, `/* or between these */`."""


def _rooms(words: Words) -> str:
    rows = (
        ("`at (X, Y)`", "its corner at the top left; needed unless it has a relative position"),
        ("`size (W x H)` or `size NAME`", "**needed**; a name is one that `define` gave"),
        ("`walls [side: type, ...]`", "**needed**, at least one; sides not listed are solid"),
        ("`height H`", "its height, if not that of the floor or `default_height`"),
        ("`elevation [-]E`", "how far its floor lies above that of the storey"),
        ("`DIRECTION ROOM [gap G] [align SIDE]`", "a relative position, see below"),
        ('`label "text"`', "a text under its name"),
        ("`composed of [ sub-room ... ]`", "rooms within it"),
        ("`style NAME`", "a style defined above"),
    )
    return f"""
## Rooms

`room NAME clauses`, with these clauses in any order, each once:

{_table(("clause", "meaning"), rows)}

```text
room Office at (0, 0) size (10 x 12) walls [top: solid, right: window] label "main workspace"
```"""


def _walls(words: Words) -> str:
    return f"""
## Walls

Sides: {_all(words.sides)}. Wall types: {_all(words.wall_kinds)}.

`solid` is a wall, `door` one with a door, `window` one with a window, `open` none at all. An
opening may have a place along the wall and a size: `top: window at 20% size (3 x 4) height 9`;
`at` counts from the left or from the top, in percent or in units of the plan, and like `height`
has no unit written behind it; sizes may have one. `height` is that of the wall; sills are as high
as `window_sill` in the config says. A side may be listed more than once, for several openings."""


def _relations(words: Words) -> str:
    return f"""
## Relative positions

Instead of `at`, a room may stand beside another of its floor:
`DIRECTION ROOM [gap G] [align SIDE]`.

- Directions: {_all(words.directions)}.
- `gap` is the distance between both (0 if not said).
- Alignments: {_all(words.alignments)}. Beside a room: `top` (default), `bottom` or `center`;
  above and below one: `left` (default), `right` or `center`. Diagonals take none.

```text
room Kitchen size (8 x 10) walls [top: solid] right-of Living gap 0 align bottom
```"""


def _composed() -> str:
    return """
## Rooms within rooms

`composed of [ ... ]` holds `sub-room`s (or `room`s). They are written like rooms; their positions
count from the corner of the room around them.

```text
room Flex at (0, 0) size (20 x 20) walls [top: open] composed of [
  sub-room Booth at (2, 2) size (3 x 3) walls [bottom: door]
]
```"""


def _connections(words: Words) -> str:
    return f"""
## Connections

`connect ROOM.side to ROOM.side KIND clauses`, behind the floors. One of both may be `outside`.
Kinds: {
        _all(words.connection_kinds)
    }. Both walls are best `solid`: the connection cuts its own hole.

{
        _table(
            ("clause", "meaning"),
            (
                ("`at P%`", "where along the wall that both rooms share (50 if not said)"),
                (
                    "`size (W x H)`, `size (W x full)`",
                    "of the opening; `full` is as high as the room",
                ),
                ("`opens into ROOM`", "into which room the leaf turns; the first if not said"),
                (
                    f"`swing: {'|'.join(words.hands)}`".replace("|", " or "),
                    "at which hand its hinges are",
                ),
            ),
        )
    }

```text
connect Hall.right to Bath.left door at 30% size (0.9m x 2.1m) opens into Bath swing: left
connect Hall.bottom to outside double-door
```"""


def _defines_and_styles(words: Words) -> str:
    rows = ((f"`{key.name}`", _KINDS[key.kind], key.meaning) for key in words.style_keys)
    return f"""
## Sizes by name, and styles

`define small (8 x 8)` lets rooms say `size small`. `style wood {{ floor_color: "#d8b48c" }}` lets
rooms say `style wood`. Keys of a style:

{_table(("key", "value", "meaning"), rows)}"""


def _config(words: Words) -> str:
    rows = (
        (" or ".join(f"`{name}`" for name in key.spellings), _KINDS[key.kind], key.meaning)
        for key in words.config_keys
    )
    return f"""
## Config

`config {{ default_unit: m, theme: dark }}`, once. Keys:

{_table(("key", "value", "meaning"), rows)}

Units: {_all(words.units)}. Units of area: {_all(words.area_units)}. Themes: {_all(words.themes)}.
Codes: {_all(words.codes)}."""


_SHAPES = {
    "straight": "toward SIDE",
    "L-shaped": "from SIDE turn HAND [runs N, N] [landing (W x H)]",
    "U-shaped": "from SIDE turn HAND [runs N, N] [landing (W x H)]",
    "double-L": "from SIDE turn HAND [runs N, N, N] [landing (W x H)]",
    "spiral": "rotation ROTATION [inner-radius R] outer-radius R",
    "curved": "from SIDE [arc 90°] radius R",
    "winder": "from SIDE turn HAND winders N [runs N, N]",
    "custom": "from SIDE [flight N width W along ROOM.side, turn HAND landing (W x H), ...]",
}


def _stairs(words: Words) -> str:
    shapes = "\n".join(
        f"- `shape {shape} {_SHAPES.get(shape, '')}".rstrip() + "`" for shape in words.stair_shapes
    )
    rows = (
        ("`at (X, Y)`", "its corner at the top left"),
        ("`shape ...`", "**needed**, see below"),
        ("`rise H`", "**needed**: how high it climbs"),
        ("`width W`, `riser H`, `tread D`, `nosing D`, `headroom H`", "its measures"),
        ("`handrail (HAND)`", f"for who climbs: {_all(words.handrails)}"),
        ("`stringers KIND`", _all(words.stringers)),
        ('`material { part: "text", ... }`', f"parts: {_all(words.material_parts)}"),
        ('`label "text"`', "its name on the drawing"),
        ("`style NAME`", "`floor_color` of the style fills it, `wall_color` is its edge"),
    )
    return f"""
## Stairs

`stair NAME clauses`, on a floor:

{_table(("clause", "meaning"), rows)}

{shapes}

Sides as above; hands {_all(words.hands)}; rotations {_all(words.rotations)}.

```text
stair Main at (1, 1) shape L-shaped from bottom turn left runs 6, 8 rise 10ft width 3.5ft riser 7in
```"""


def _lifts(words: Words) -> str:
    return f"""
## Lifts and vertical connections

`lift NAME at (X, Y) size (W x H) [doors (SIDE, ...)] [label "text"] [style NAME]`, on a
floor; sides {_all(words.sides)}. Its style is drawn as that of a stair.

`vertical ground.Main to first.Main [to second.Main]` says that stairs or lifts of these floors are
one. The drawing writes `UP` on the lowest of them, `DN` on the highest, and both between; a stair
that nothing joins says `UP`."""


def _versions(words: Words) -> str:
    keys = ", ".join(f"`{key}`" for key in words.document_keys)
    return f"""
## Versions and frontmatter

A plan says its version before the word `floorplan`, as `%%{{version: 1.0}}%%` or in a frontmatter
in YAML with {keys} and `config`. What the config of the text says goes before:

```text
---
version: "1.0"
title: My home
config:
  theme: dark
---
floorplan
```"""


def _examples() -> str:
    shown = (f"### {one.title}\n\n```text\n{one.text.strip()}\n```" for one in EXAMPLES)
    return "## Complete examples\n\n" + "\n\n".join(shown)
