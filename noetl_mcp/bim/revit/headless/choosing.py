"""Choose elements by id, by name, by level, by what they are. Nothing is guessed.

A name that nothing has chooses nothing, and says so; a level's name that two levels have is
refused.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from noetl_mcp.bim.revit.headless import categories
from noetl_mcp.bim.revit.headless.asking import Choosing, NameRule, Openings
from noetl_mcp.bim.revit.headless.categories import Category
from noetl_mcp.bim.revit.headless.document import Document, Level
from noetl_mcp.bim.revit.headless.frames import Entity, text
from noetl_mcp.bim.revit.headless.parameters import parameter
from noetl_mcp.bim.revit.headless.refusals import Refused, unknown
from noetl_mcp.bim.revit.headless.views import view
from noetl_mcp.cuts import beginning

Claim = Callable[[Entity], bool]
_MOST_TOLD = 5


class Chosen(NamedTuple):
    """What was chosen, and what the asker should know of it."""

    elements: tuple[Entity, ...]
    warnings: tuple[str, ...] = ()

    @property
    def warned(self) -> dict[str, list[str]]:
        """The field `warnings` of an answer, or nothing."""
        return {"warnings": list(self.warnings)} if self.warnings else {}


def chosen(document: Document, elements: Iterable[Entity], asked: Choosing) -> Chosen:
    """Return those elements that are asked for."""
    claims = [*_identity(asked), *_place(document, asked), *_kind(document, asked)]
    claims += _named(document, asked)
    if isinstance(asked, Openings):
        claims += _hosted(document, asked)
    every = list(elements)
    kept = tuple(one for one in every if all(claim(one) for claim in claims))
    warnings = [*_strangers(document, every, asked)]
    warnings += [] if kept else _why_none(document, asked)
    return Chosen(kept, tuple(warnings))


def level_named(document: Document, name: str) -> Level | None:
    """Return the level of a name; None when there is none."""
    found = [one for one in document.levels if one.name == name]
    if len(found) > 1:
        ids = ", ".join(str(one.id) for one in found)
        raise Refused("AMBIGUOUS_NAME", f"several levels are called '{name}'; say levelId: {ids}")
    return found[0] if found else None


def categories_named(words: Sequence[str]) -> frozenset[Category]:
    """Return the categories that words name."""
    found = set[Category]()
    for word in words:
        one = categories.named(word)
        if one is None:
            raise unknown("category", word, categories.NAMES)
        found.add(one)
    return frozenset(found)


def element(document: Document, number: int | None, unique_id: str | None) -> Entity:
    """Return the one element that is meant."""
    if number is None and unique_id is None:
        raise Refused("INVALID_PARAMS", "say which element: 'elementId' or 'uniqueId'")
    by_number = None if number is None else document.elements.get(number)
    by_name = None if unique_id is None else _of_unique_id(document, unique_id)
    if number is not None and unique_id is not None and by_number != by_name:
        raise Refused("INVALID_PARAMS", "'elementId' and 'uniqueId' name different elements")
    found = by_name if number is None else by_number
    if found is None:
        raise Refused("NOT_FOUND", no_element(number or unique_id or ""))
    return found


def _of_unique_id(document: Document, name: str) -> Entity | None:
    """Return the element of a GlobalId, which files may give to several."""
    found = document.by_unique_id.get(name, ())
    if len(found) > 1:
        ids = ", ".join(str(one.id()) for one in found[:10])
        raise Refused("AMBIGUOUS_NAME", f"several elements are '{name}'; say elementId: {ids}")
    return found[0] if found else None


def elements(
    document: Document,
    numbers: Sequence[int],
    unique_ids: Sequence[str],
) -> tuple[list[Entity], list[int | str]]:
    """Return the elements that are meant, each once, and the names that nothing has."""
    found: dict[int, Entity] = {}
    missing = list[int | str]()
    for number in numbers:
        _found(found, missing, number, document.elements.get(number))
    for name in unique_ids:
        _found(found, missing, name, _of_unique_id(document, name))
    return list(found.values()), missing


def _found(
    found: dict[int, Entity], missing: list[int | str], name: int | str, one: Entity | None
) -> None:
    if one is None:
        missing.append(name)
    else:
        found[one.id()] = one


def fits(name: str, rule: NameRule) -> bool:
    """Whether a name is as asked; capitals do not count."""
    said, wanted = name.casefold(), rule.value.casefold()
    ways: dict[str, Callable[[], bool]] = {
        "equals": lambda: said == wanted,
        "contains": lambda: wanted in said,
        "startsWith": lambda: said.startswith(wanted),
        "endsWith": lambda: said.endswith(wanted),
    }
    return ways[rule.mode]()


def on_level(document: Document, number: int) -> Claim:
    """Return the claim that an element stands on a level."""

    def holds(one: Entity) -> bool:
        level = document.level(one)
        return level is not None and level.id == number

    return holds


def in_view(document: Document, number: int) -> list[Claim]:
    """Return the claims of what a view shows; the view in space shows everything."""
    level = view(document, number).level
    return [] if level is None else [on_level(document, level.id)]


def _identity(asked: Choosing) -> list[Claim]:
    claims = list[Claim]()
    if asked.element_id is not None or asked.element_ids is not None:
        numbers = {*(asked.element_ids or ()), asked.element_id}
        claims.append(lambda one: one.id() in numbers)
    if asked.unique_id is not None or asked.unique_ids is not None:
        names = {*(asked.unique_ids or ()), asked.unique_id}
        claims.append(lambda one: one.GlobalId in names)
    return claims


def _place(document: Document, asked: Choosing) -> list[Claim]:
    claims = list[Claim]()
    for name in (asked.level, asked.level_name):
        if name is not None:
            level = level_named(document, name)
            claims.append(_never if level is None else on_level(document, level.id))
    if asked.level_id is not None:
        claims.append(on_level(document, asked.level_id))
    if asked.view_id is not None:
        claims += in_view(document, asked.view_id)
    return claims


def _kind(document: Document, asked: Choosing) -> list[Claim]:
    claims = list[Claim]()
    if asked.type_id is not None:
        claims.append(lambda one: document.kind(one).id == asked.type_id)
    if asked.type_name is not None:
        claims.append(lambda one: document.kind(one).name == asked.type_name)
    if asked.family_name is not None:
        claims.append(lambda one: document.kind(one).family == asked.family_name)
    return claims


def _named(document: Document, asked: Choosing) -> list[Claim]:
    claims = list[Claim]()
    if asked.name_contains is not None:
        rule = NameRule(mode="contains", value=asked.name_contains)
        claims.append(lambda one: any(fits(name, rule) for name in names_of(one)))
    if asked.mark is not None:
        claims.append(lambda one: mark(document, one) == asked.mark)
    return claims


def names_of(one: Entity) -> tuple[str, ...]:
    """Return what an element is called: its name, and a room's long name."""
    said = (one.Name, getattr(one, "LongName", None))
    return tuple(text(name) for name in said if name)


def mark(document: Document, one: Entity) -> str | None:
    """Return the mark of an element."""
    found = parameter(document, one, "Mark")
    return None if found is None or found.value is None else str(found.value)


def _hosted(document: Document, asked: Openings) -> list[Claim]:
    claims = list[Claim]()

    def stands_in(wanted: Callable[[Entity], bool]) -> Claim:
        def holds(one: Entity) -> bool:
            host = document.host(one)
            return host is not None and wanted(host)

        return holds

    for number in {asked.host_wall_id, asked.wall_id} - {None}:
        claims.append(stands_in(partial(_has_id, number)))
    if asked.host_unique_id is not None:
        claims.append(stands_in(lambda wall: wall.GlobalId == asked.host_unique_id))
    return claims


def _has_id(number: int | None, one: Entity) -> bool:
    return bool(one.id() == number)


def _never(one: Entity) -> bool:
    return False


def _strangers(document: Document, every: Sequence[Entity], asked: Choosing) -> Iterator[str]:
    """Yield which of the elements that were named are not among those of a list."""
    numbers = [*(asked.element_ids or ()), *({asked.element_id} - {None})]
    names = [*(asked.unique_ids or ()), *({asked.unique_id} - {None})]
    if not numbers and not names:
        return
    there = {one.id() for one in every}
    found, missing = elements(document, numbers, names)
    others = [one for one in found if one.id() not in there]
    for name in missing[:_MOST_TOLD]:
        yield no_element(name)
    for one in others[:_MOST_TOLD]:
        yield f"element {one.id()} is not in this list: it is an {one.is_a()}"
    left = max(0, len(missing) - _MOST_TOLD) + max(0, len(others) - _MOST_TOLD)
    if left:
        yield f"and {left} more"


def no_element(name: int | str) -> str:
    """Return the words for an element that is not there."""
    shown = name if isinstance(name, int) else f"'{beginning(name, 100)}'"
    return f"there is no element {shown}"


def _why_none(document: Document, asked: Choosing) -> Iterable[str]:
    """Yield which names nothing has, when nothing was chosen."""
    levels = [one.name for one in document.levels]
    for name in (asked.level, asked.level_name):
        if name is not None and name not in levels:
            yield str(unknown("level", name, levels))
    yield from unknown_types(document, asked.type_name, asked.family_name)
    if asked.level_id is not None and all(one.id != asked.level_id for one in document.levels):
        yield f"there is no level {asked.level_id}"
    if asked.type_id is not None and asked.type_id not in _type_ids(document):
        yield f"there is no type {asked.type_id}"
    if isinstance(asked, Openings):
        hosts = [one for one in (asked.host_wall_id, asked.wall_id) if one is not None]
        hosted = [asked.host_unique_id] if asked.host_unique_id is not None else []
        yield from map(no_element, elements(document, hosts, hosted)[1])


def _type_ids(document: Document) -> set[int | None]:
    """Return the ids of types, those too that stand in names alone."""
    return {document.kind(one).id for one in document.elements.values()} | {*document.types}


def unknown_types(document: Document, name: str | None, family: str | None) -> Iterator[str]:
    """Yield which of the names of a type and a family nothing has."""
    kinds = [document.kind(one) for one in document.elements.values()]
    for what, word, known in (
        ("type", name, {one.name for one in kinds}),
        ("family", family, {one.family for one in kinds}),
    ):
        if word is not None and word not in known:
            yield str(unknown(what, word, known))


__all__ = [
    "Chosen",
    "Claim",
    "categories_named",
    "chosen",
    "element",
    "elements",
    "fits",
    "in_view",
    "level_named",
    "mark",
    "names_of",
    "on_level",
    "unknown_types",
]
