"""Checks of names: of sizes, styles, rooms, floors, stairs and lifts; twice, or nowhere."""

from collections.abc import Iterable, Iterator

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.rules import ERROR, Rule, hint, of_language

DUPLICATE_STYLE = of_language(
    "duplicate-style",
    ERROR,
    "Duplicate style name '{style}'. Style names must be unique.",
    "two styles have one name",
)
UNDEFINED_STYLE = of_language(
    "undefined-style",
    ERROR,
    "Room '{room}' references undefined style '{style}'. Define it with 'style {style} {{ ... }}'.",
    "a room or sub-room names a style that is not defined",
)
UNDEFINED_DEFAULT = of_language(
    "undefined-default-style",
    ERROR,
    "Config references undefined style '{style}'. Define it with 'style {style} {{ ... }}'.",
    "`default_style` names a style that is not defined",
)
CAMEL_DEFAULT = hint(
    "undefined-default-style-camel",
    "Config references undefined style '{style}'. Define it with 'style {style} {{ ... }}'.",
    "`defaultStyle` names a style that is not defined",
)
THING_STYLE = hint(
    "stair-undefined-style",
    "{kind} '{name}' references undefined style '{style}'. Define it with 'style {style} "
    "{{ ... }}'.",
    "a stair or lift names a style that is not defined",
)
DUPLICATE_SIZE = Rule(
    "duplicate-definition",
    ERROR,
    "duplicate_definition",
    "Variable '{name}' is defined multiple times",
    "two `define` have one name",
)
UNDEFINED_SIZE = Rule(
    "undefined-variable",
    ERROR,
    "undefined_variable",
    "Room '{room}' references undefined variable '{name}'",
    "a room's size is a name that no `define` has",
)
DUPLICATE_ROOM = hint(
    "duplicate-room",
    "Floor '{floor}' has another room named '{name}'. Connections and relative positions mean "
    "only one of them; give this one its own name.",
    "two rooms or sub-rooms of one floor have one name",
)
DUPLICATE_FLOOR = hint(
    "duplicate-floor",
    "Another floor is named '{name}', too. Vertical connections mean only one of them; give this "
    "one its own name.",
    "two floors have one name",
)
DUPLICATE_THING = hint(
    "duplicate-stair",
    "Floor '{floor}' has another stair or lift named '{name}'. Vertical connections mean only one "
    "of them; give this one its own name.",
    "two stairs or lifts of one floor have one name",
)
RULES = (
    UNDEFINED_STYLE,
    UNDEFINED_DEFAULT,
    CAMEL_DEFAULT,
    THING_STYLE,
    DUPLICATE_STYLE,
    DUPLICATE_SIZE,
    UNDEFINED_SIZE,
    DUPLICATE_ROOM,
    DUPLICATE_FLOOR,
    DUPLICATE_THING,
)


def undefined_styles(subject: Subject) -> Iterator[Finding]:
    """Look for styles of rooms, and of the config, that are not defined."""
    styles = subject.building.styles
    for written in subject.rooms:
        style = written.room.style
        if style is not None and style.name.text not in styles:
            name = written.room.name.text
            yield UNDEFINED_STYLE.found(
                *style.name[1:], about=name, room=name, style=style.name.text
            )
    default = subject.settings.get("default_style")
    if default is not None and isinstance(default.value, str) and default.value not in styles:
        rule = UNDEFINED_DEFAULT if default.key == "default_style" else CAMEL_DEFAULT
        yield rule.found(default.value_start, default.value_end, style=default.value)


def undefined_styles_of_others(subject: Subject) -> Iterator[Finding]:
    """Look for styles of stairs and lifts that are not defined."""
    styles = subject.building.styles
    for floor in subject.plan.floors:
        things: list[tree.Stair | tree.Lift] = [*floor.stairs, *floor.lifts]
        for thing in things:
            if thing.style is None or thing.style.name.text in styles:
                continue
            yield THING_STYLE.found(
                *thing.style.name[1:],
                kind="Stair" if isinstance(thing, tree.Stair) else "Lift",
                name=thing.name.text,
                style=thing.style.name.text,
            )


def duplicate_styles(subject: Subject) -> Iterator[Finding]:
    """Look for styles of one name."""
    for name in _repeated(style.name for style in subject.plan.styles):
        yield DUPLICATE_STYLE.found(*name[1:], style=name.text)


def duplicate_sizes(subject: Subject) -> Iterator[Finding]:
    """Look for defines of one name."""
    for name in _repeated(define.name for define in subject.plan.defines):
        yield DUPLICATE_SIZE.found(*name[1:], variable=name.text, name=name.text)


def undefined_sizes(subject: Subject) -> Iterator[Finding]:
    """Look for sizes by names that are not defined."""
    known = {define.name.text for define in subject.plan.defines}
    for written in subject.rooms:
        size, room = written.room.size, written.room.name.text
        if isinstance(size, tree.SizeName) and size.name.text not in known:
            name = size.name.text
            yield UNDEFINED_SIZE.found(
                *size.name[1:], about=room, variable=name, room=room, name=name
            )


def duplicates(subject: Subject) -> Iterator[Finding]:
    """Look for floors, and for rooms, stairs and lifts of a floor, of one name."""
    for name in _repeated(floor.name for floor in subject.plan.floors):
        yield DUPLICATE_FLOOR.found(*name[1:], name=name.text)
    by_floor: dict[int, list[tree.Name]] = {}
    for written in subject.rooms:
        by_floor.setdefault(written.level, []).append(written.room.name)
    for index, floor in enumerate(subject.plan.floors):
        for name in _repeated(by_floor.get(index, ())):
            yield DUPLICATE_ROOM.found(*name[1:], floor=floor.name.text, name=name.text)
        things: list[tree.Stair | tree.Lift] = [*floor.stairs, *floor.lifts]
        for name in _repeated(thing.name for thing in things):
            yield DUPLICATE_THING.found(*name[1:], floor=floor.name.text, name=name.text)


def _repeated(names: Iterable[tree.Name]) -> Iterator[tree.Name]:
    """Yield the names that have been there before."""
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            yield name
        seen.add(name.text)
