"""Do the operations on styles and on the config. It refuses to write into a frontmatter."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.edit import building_operations, fields, writing
from noetl_mcp.bim.floorplan.edit.places import head_line
from noetl_mcp.bim.floorplan.edit.rooms import no_word
from noetl_mcp.bim.floorplan.edit.sheet import (
    Edit,
    Outcome,
    Refused,
    Sheet,
    elements_of,
    rooms_of,
)
from noetl_mcp.bim.floorplan.words import CONFIG_KEYS, STYLE_KEYS

_SPELT = {spelling: key.name for key in CONFIG_KEYS for spelling in key.spellings}
_KINDS = {key.name: key.kind for key in CONFIG_KEYS} | {key.name: key.kind for key in STYLE_KEYS}


def _value(key: str, value: Any) -> str:
    """Write what stands behind a key."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return writing.number(value)
    if isinstance(value, str):
        return writing.quoted(value) if _KINDS[key] in ("string", "color") else value
    return writing.size(value)


def _block(values: Mapping[str, Any]) -> str:
    """Write `{ key: value, … }`."""
    return "{ " + ", ".join(f"{key}: {_value(key, one)}" for key, one in values.items()) + " }"


def _changed(
    sheet: Sheet, there: Sequence[tree.Property], values: Mapping[str, Any]
) -> Iterator[Edit]:
    """Yield the edits of the properties between two braces; some property must be left."""
    gone = [one for one in there if values.get(_SPELT.get(one.key, one.key), 0) is None]
    left = [one for one in there if one not in gone]
    for one in left:
        name = _SPELT.get(one.key, one.key)
        if name in values:
            yield Edit(one.value_start, one.value_end, _value(name, values[name]))
    names = {_SPELT.get(one.key, one.key) for one in there}
    new = {key: one for key, one in values.items() if key not in names and one is not None}
    if new:
        end = (left or there)[-1].end
        said = ", ".join(f"{key}: {_value(key, one)}" for key, one in new.items())
        yield Edit(end, end, f", {said}" if left else said)
    for one in gone:
        yield from _out(sheet, there, one, left)


def _out(
    sheet: Sheet,
    there: Sequence[tree.Property],
    one: tree.Property,
    left: Sequence[tree.Property],
) -> Iterator[Edit]:
    """Take out a property and the comma that it no longer needs."""
    index = there.index(one)
    yield sheet.clause_out(one.start, one.end)
    if any(kept in left for kept in there[:index]):
        comma = sheet.signs(there[index - 1].end, one.start)[0]
        yield Edit(comma.start, comma.end, "")
    elif index + 1 < len(there):
        comma = sheet.signs(one.end, there[index + 1].start)[0]
        yield Edit(comma.start, comma.end, "")


def the_style(sheet: Sheet, name: str) -> tree.Style:
    """Return a style; refuse when there is none."""
    for style in sheet.plan.styles:
        if style.name.text == name:
            return style
    raise Refused(f'Style "{name}" not found')


def add_style(sheet: Sheet, asked: building_operations.AddStyle) -> Outcome:
    """Add a style behind the others."""
    values = {key: one for key, one in fields.entries(asked.params).items() if one is not None}
    name = values.pop("name")
    no_word(name)
    if any(style.name.text == name for style in sheet.plan.styles):
        raise Refused(f'A style "{name}" is already there')
    if not values:
        raise Refused("A style needs at least one of " + ", ".join(key.name for key in STYLE_KEYS))
    plan = sheet.plan
    edit = head_line(sheet, f"style {name} {_block(values)}", plan.styles, plan.defines)
    return Outcome(name, (edit,))


def update_style(sheet: Sheet, asked: building_operations.UpdateStyle) -> Outcome:
    """Change the keys of a style that are given."""
    style = the_style(sheet, asked.target)
    values = fields.entries(asked.params)
    if not values:
        raise Refused(fields.choices(asked.params))
    there = {one.key for one in style.properties}
    left = there - {key for key, one in values.items() if one is None}
    if not left and not any(one is not None for one in values.values()):
        raise Refused(f'Style "{asked.target}" would say nothing then; remove it instead')
    return Outcome(asked.target, tuple(_changed(sheet, style.properties, values)))


def remove_style(sheet: Sheet, asked: building_operations.RemoveStyle) -> Outcome:
    """Remove a style, and take it from what bears it."""
    style = the_style(sheet, asked.target)
    edits = [sheet.without(style.start, style.end)]
    others = [one for one in sheet.plan.styles if one is not style]
    if any(one.name.text == asked.target for one in others):
        return Outcome(asked.target, tuple(edits))
    bearers = _bearers(sheet, asked.target)
    for _, found in bearers:
        edits.append(sheet.clause_out(found.start, found.end))
    says = [f"{name} has no style now" for name, _ in bearers]
    config = sheet.plan.config
    for one in config.properties if config is not None else ():
        if _SPELT[one.key] == "default_style" and one.value == asked.target:
            edits += _config_edits(sheet, {"default_style": None})
            says.append("default_style is gone from the config")
            break
    return Outcome(asked.target, tuple(edits), "; ".join(says) or None)


def _bearers(sheet: Sheet, name: str) -> list[tuple[str, tree.StyleName]]:
    things: list[tree.Room | tree.Stair | tree.Lift] = [one.room for one in rooms_of(sheet.plan)]
    things += [one.element for one in elements_of(sheet.plan)]
    return [
        (thing.name.text, thing.style)
        for thing in things
        if thing.style is not None and thing.style.name.text == name
    ]


def set_config(sheet: Sheet, asked: building_operations.SetConfig) -> Outcome:
    """Change the keys of the config that are given; write one where there is none."""
    values = fields.entries(asked.params)
    if not values:
        raise Refused(fields.choices(asked.params))
    edits = tuple(_config_edits(sheet, values))
    return Outcome("config", edits, sets_unit="default_unit" in values)


def _config_edits(sheet: Sheet, values: Mapping[str, Any]) -> list[Edit]:
    config = sheet.plan.config
    own = [] if config is None else [p for p in config.properties if p.start >= sheet.plan.start]
    names = {_SPELT[one.key] for one in own}
    above = {_SPELT[one.key] for one in config.properties} - names if config is not None else set()
    for key, value in values.items():
        if value is None and key in above:
            raise Refused(f"{key} stands in the frontmatter; give it a value instead")
    there = {key: one for key, one in values.items() if one is not None}
    if config is None or not own:
        if not there:
            return []
        plan = sheet.plan
        return [head_line(sheet, f"config {_block(there)}", plan.styles, plan.defines)]
    if not there and names <= set(values):
        return [sheet.without(config.start, config.end)]
    return list(_changed(sheet, own, values))


DOES: dict[type[Any], Any] = {
    building_operations.AddStyle: add_style,
    building_operations.UpdateStyle: update_style,
    building_operations.RemoveStyle: remove_style,
    building_operations.SetConfig: set_config,
}
