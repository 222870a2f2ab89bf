"""What all settings models share: older spellings, bare values, keys that exclude each other.

A key has one canonical name; a second spelling is read as the same key, never beside it. Errors
stand at the key as it was written. Renders nothing and knows no task type.
"""

from functools import cache
from typing import Any, ClassVar, TypeVar

from pydantic import (
    AliasChoices,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from noetl_mcp.playbook.values import Model

Made = TypeVar("Made", bound="SettingsModel")
Group = frozenset[str]


def _show_spellings(schema: dict[str, Any], model: "type[SettingsModel]") -> None:
    """Tell the JSON Schema of a model what `SettingsModel` reads beyond its fields."""
    properties = schema.get("properties", {})
    required = schema.pop("required", [])
    choices = []
    for spelling, key in spellings(model).items():
        if spelling != key and key in properties:
            properties[spelling] = {**properties[key], "description": f"The same as `{key}`."}
            choices.append((key, spelling))
    doubled = {key for key, _ in choices} & set(required)
    if kept := [key for key in required if key not in doubled and key != model.flat]:
        schema["required"] = kept
    for key in sorted(doubled):
        names = [key, *(spelling for one, spelling in choices if one == key)]
        one = {"anyOf": [{"required": [name]} for name in names]}
        schema.setdefault("allOf", []).append(one)
    for key, words in _flat_keys(model).items():
        properties.setdefault(key, {"description": words})
    if model.shorthand is not None:
        whole = dict(schema)
        schema.clear()
        schema["anyOf"] = [whole, {"type": ["string", "number", "boolean"]}]


class SettingsModel(Model):
    """The settings of a task type, or of a part of one."""

    model_config = ConfigDict(populate_by_name=False, json_schema_extra=_show_spellings)

    at_most_one_of: ClassVar[tuple[Group, ...]] = ()
    """Keys that exclude each other."""
    at_least_one_of: ClassVar[tuple[Group, ...]] = ()
    """Of each group one key must stand; for parts only, a task type says it in its TaskSpec."""
    shorthand: ClassVar[str | None] = None
    """The key that a bare text, number or flag in place of the map stands for."""
    flat: ClassVar[str | None] = None
    """The key of a map whose entries may also stand beside it."""

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls: type[Made], given: Any, handler: ModelWrapValidatorHandler[Made]) -> Made:
        """Validate, and tell every error at the key as it was written."""
        whole = _unfolded(cls, given)
        twice = _told_twice(cls, whole)
        found = [*twice.values(), *_excluded(cls, whole), *_absent(cls, whole)]
        try:
            made = handler(whole)
        except ValidationError as refused:
            lines = refused.errors(include_url=False)
            found += [_placed(cls, given, dict(line)) for line in lines if line["loc"] not in twice]
            raise ValidationError.from_exception_data(cls.__name__, found) from None
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return made


@cache
def spellings(model: type[Model]) -> dict[str, str]:
    """Return every spelling that a model reads, with the canonical key it stands for."""
    found: dict[str, str] = {}
    for name, field in model.model_fields.items():
        names = _names(name, field)
        found.update(dict.fromkeys(names, names[0]))
    return found


def _names(name: str, field: FieldInfo) -> list[str]:
    """Return the spellings of a field, the canonical one first."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        return [str(one) for one in alias.choices]
    return [alias if isinstance(alias, str) else name]


def canonical(model: type[Model], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings under their canonical keys; unknown keys stay as they are."""
    known = spellings(model)
    return {known.get(key, key): value for key, value in given.items()}


def _flat_keys(model: type[SettingsModel]) -> dict[str, str]:
    """Return the keys that may stand beside the map they belong to, with their descriptions."""
    if model.flat is None:
        return {}
    part = _part(model.model_fields[model.flat].annotation)
    fields = part.model_fields if part else {}
    return {_names(name, field)[0]: str(field.description) for name, field in fields.items()}


def _part(annotation: object) -> type[SettingsModel] | None:
    is_part = isinstance(annotation, type) and issubclass(annotation, SettingsModel)
    return annotation if is_part else None  # type: ignore[return-value]  # narrowed above


def _unfolded(model: type[SettingsModel], given: Any) -> Any:
    """Give a bare value its key, and put flat keys into their map."""
    if model.shorthand is not None and isinstance(given, (str, int, float)):
        return {model.shorthand: given}
    if model.flat is None or not isinstance(given, dict) or model.flat in given:
        return given
    inner = {key: value for key, value in given.items() if key in _flat_keys(model)}
    rest = {key: value for key, value in given.items() if key not in inner}
    return {**rest, model.flat: inner} if inner else given


def _written(model: type[SettingsModel], given: Any) -> dict[str, list[str]]:
    """Return the canonical keys that are given, each with its spellings in the text."""
    known, found = spellings(model), dict[str, list[str]]()
    for spelling in given if isinstance(given, dict) else ():
        if spelling in known:
            found.setdefault(known[spelling], []).append(spelling)
    return found


def _told_twice(
    model: type[SettingsModel], given: Any
) -> dict[tuple[int | str, ...], InitErrorDetails]:
    """Find keys that stand under two spellings; the first of the model's own order counts."""
    order, found = list(spellings(model)), dict[tuple[int | str, ...], InitErrorDetails]()
    for written in _written(model, given).values():
        first, *others = sorted(written, key=order.index)
        for other in others:
            words = f"'{first}' and '{other}' mean the same; keep one"
            found[(other,)] = _error("two_spellings", words, (other,), given[other])
    return found


def _excluded(model: type[SettingsModel], given: Any) -> list[InitErrorDetails]:
    """Find keys that cannot stand beside each other."""
    written, found = _written(model, given), []
    for group in model.at_most_one_of:
        names = [said[0] for key, said in written.items() if key in group]
        names = [name for name in names if given[name] is not None and given[name] is not False]
        for other in names[1:]:
            words = f"'{names[0]}' and '{other}' exclude each other; keep one"
            found.append(_error("excludes", words, (other,), given[other]))
    return found


def _absent(model: type[SettingsModel], given: Any) -> list[InitErrorDetails]:
    """Find groups of which no key is given."""
    written, found = _written(model, given), []
    for group in model.at_least_one_of:
        if isinstance(given, dict) and not group & set(written):
            words = "one of these is needed: " + ", ".join(sorted(group))
            found.append(_error("one_of", words, (), given))
    return found


def _placed(model: type[SettingsModel], given: Any, line: dict[str, Any]) -> InitErrorDetails:
    """Move an error to the key under which the value stands in the text."""
    loc = tuple(line["loc"])
    if loc and isinstance(given, dict) and loc[0] not in given:
        if loc[0] == model.flat and len(loc) > 1:
            loc = loc[1:]
        loc = (*_written(model, given).get(str(loc[0]), [loc[0]])[:1], *loc[1:]) if loc else loc
    return _error(line["type"], line["msg"], loc, line["input"], line.get("ctx"))


def _error(
    kind: str,
    words: str,
    loc: tuple[int | str, ...],
    value: object,
    ctx: dict[str, Any] | None = None,
) -> InitErrorDetails:
    return InitErrorDetails(type=PydanticCustomError(kind, words, ctx), loc=loc, input=value)


__all__ = [
    "Group",
    "Made",
    "SettingsModel",
    "canonical",
    "spellings",
]
