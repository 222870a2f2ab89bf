"""Check the settings of an action against its task type. Part of the pass `bind`."""

from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from noetl_mcp.compiler.draft import Placed
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.dialects.steps import STEP_KEYS
from noetl_mcp.playbook.node import Path, kind_of
from noetl_mcp.playbook.values import Model
from noetl_mcp.playbook.wrong_values import nearest_of, wanted
from noetl_mcp.rules import names, reading, shape
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.settings_model import canonical, spellings

Settings = Mapping[str, Placed]
_LONGEST = 1_000
_MOST_KEYS = 1_000


def check_settings(
    spec: TaskSpec, given: Settings, where: str, at: Path, report: Report
) -> dict[str, Placed]:
    """Return the settings under their canonical keys with their values read; report the rest."""
    return check_against(
        spec.settings,
        given,
        Place(where, at),
        report,
        beside=STEP_KEYS,
        groups=spec.required_one_of,
    )


class Place(NamedTuple):
    """What is being checked, in words, and where it stands."""

    where: str
    at: Path


def check_against(
    model: type[Model],
    given: Settings,
    place: Place,
    report: Report,
    *,
    beside: frozenset[str] = frozenset(),
    groups: tuple[frozenset[str], ...] = (),
) -> dict[str, Placed]:
    """Validate values against a model; what does not fit is reported and left out.

    Of each of `groups` one key must be there. A misspelt key counts as the one it is nearest to,
    so that it is told once and not again as missing.
    """
    if len(given) > _MOST_KEYS:
        report.say(reading.TOO_MANY_VALUES, place.at, most=_MOST_KEYS)
        given = dict(islice(given.items(), _MOST_KEYS))
    given = _without_empty(given, report)
    values = {key: placed.value for key, placed in given.items()}
    meant: set[str] = set()
    try:
        read = model.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False)
        meant = _say_unknown(details, model, given, place, beside, report)
        _say_others(details, given, place, meant, report)
        wrong = {str(detail["loc"][0]) if detail["loc"] else "" for detail in details}
        known = spellings(model)
        kept = {known.get(key, key): one for key, one in given.items() if key not in wrong}
        meant |= {known.get(key, key) for key in wrong}
    except Exception as problem:  # noqa: BLE001 - the model may be that of an installed package
        report.say(
            names.BROKEN_TASK_TYPE,
            place.at,
            where=place.where,
            name=model.__name__,
            origin=model.__module__,
            problem=f"raised {type(problem).__name__}: {problem}"[:500],
        )
        return {}
    else:
        kept = _placed(
            model, given, read.model_dump(by_alias=True, exclude_unset=True, warnings=False)
        )
    for group in groups:
        if not group & set(kept) and not group & meant:
            keys = ", ".join(sorted(group))
            report.say(shape.MISSING_ONE_OF, place.at, where=place.where, keys=keys)
    return kept


def _without_empty(given: Settings, report: Report) -> Settings:
    """Leave out keys with nothing behind them; a value was meant, or the key is not."""
    if all(placed.value is not None for placed in given.values()):
        return given
    kept: dict[str, Placed] = {}
    for key, placed in given.items():
        if placed.value is None and key not in _MAY_BE_NULL:
            report.say(shape.EMPTY_VALUE, placed.at, at_key=True, key=key)
        else:
            kept[key] = placed
    return kept


_MAY_BE_NULL = frozenset(("json", "params", "value", "values", "data"))


def _placed(model: type[Model], given: Settings, made: Mapping[str, Any]) -> dict[str, Placed]:
    """Put the values that the model read where they were written."""
    keys = canonical(model, dict(given))
    kept: dict[str, Placed] = {}
    names = _canonical_keys(model)
    for name, value in made.items():
        key = names.get(name, name)  # a field that is written under another name already has it
        place = keys[key].at if key in keys else next(iter(given.values())).at[:-1]
        kept[key] = Placed(value, place)
    return kept


@cache
def _canonical_keys(model: type[Model]) -> Mapping[str, str]:
    """Return the key of each field as it stands in a plan."""
    found: dict[str, str] = {}
    for name, field in model.model_fields.items():
        choices = getattr(field.validation_alias, "choices", None)
        found[name] = str(choices[0]) if choices else name
    return found


def _say_unknown(
    details: list[ErrorDetails],
    model: type[Model],
    given: Settings,
    place: Place,
    beside: frozenset[str],
    report: Report,
) -> set[str]:
    """Report keys that the model does not know; return those that were probably meant."""
    known, meant = spellings(model), set[str]()
    for detail in details:
        if detail["type"] != "extra_forbidden" or len(detail["loc"]) != 1:
            continue
        key = str(detail["loc"][0])
        near = report.near(key, sorted({*known, *beside} - _INTERNAL))
        meant |= {known.get(near, near)} if near else set()
        report.say(
            shape.UNKNOWN_KEY,
            given[key].at,
            at_key=True,
            suggestion=near,
            where=place.where,
            key=key,
            known=", ".join(sorted(known)),
        )
    return meant


_INTERNAL = {"settings", "calls", "route", "tasks", "iterator"}


def _say_others(
    details: list[ErrorDetails], given: Settings, place: Place, meant: set[str], report: Report
) -> None:
    """Report what is missing and what has a wrong value."""
    for detail in details:
        loc = detail["loc"]
        key = str(loc[0]) if loc else ""
        if detail["type"] == "extra_forbidden" and len(loc) == 1:
            continue
        if detail["type"] == "missing" and len(loc) == 1:
            if key not in meant:
                report.say(shape.MISSING_KEY, place.at, where=place.where, key=key)
            continue
        at = given[key].down(*loc[1:]) if key in given else place.at
        _say_value(detail, at, place.where, report)


def _say_value(detail: ErrorDetails, at: Path, where: str, report: Report) -> None:
    loc, kind = detail["loc"], detail["type"]
    key = str(loc[-1]) if loc else "value"
    if isinstance(loc[-1] if loc else None, int) and len(loc) > 1:
        key = str(loc[-2])
    if kind == "missing":
        report.say(shape.MISSING_KEY, at[:-1], where=f"'{loc[-2]}'", key=key)
    elif kind == "extra_forbidden":
        report.say(
            shape.UNKNOWN_KEY, at, at_key=True, where=f"'{loc[-2]}'", key=key, known="see the docs"
        )
    elif kind in ("excludes", "two_spellings", "one_of"):
        report.say(shape.SETTINGS_CLASH, at, at_key=bool(loc), where=where, problem=detail["msg"])
    else:
        found = shown_value(detail["input"])
        near = nearest_of(detail, report)
        want = wanted(detail)
        report.say(shape.WRONG_VALUE, at, suggestion=near, key=key, wanted=want, found=found)


def shown_value(value: object) -> str:
    """Return a value as a message shows it."""
    is_scalar = isinstance(value, (str, int, float)) and value is not None
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{str(value)[:_LONGEST]}'" if is_scalar else kind_of(value)
