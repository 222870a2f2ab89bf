"""Turn the parameters of a call into what its method asks, or say where they are wrong."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from noetl_mcp.bim.revit.headless.asking import Asked
from noetl_mcp.bim.revit.headless.refusals import Refused, unknown
from noetl_mcp.cuts import beginning

_MOST_SAID = 5


def understood(asks: type[Asked], params: Mapping[str, Any]) -> Asked:
    """Return the parameters of a call; refuse those that are wrong or unknown."""
    known = {field.alias or name for name, field in asks.model_fields.items()}
    for name in params:
        if name not in known:
            raise unknown("parameter", name, known)
    try:
        return asks.model_validate(params)
    except ValidationError as wrong:
        raise _refused(wrong) from None


def _refused(wrong: ValidationError) -> Refused:
    """Return what is wrong with parameters, the first few places of it."""
    problems = wrong.errors(include_url=False, include_input=False, include_context=False)
    said = [_told(one["type"], _place(one["loc"]), one["msg"]) for one in problems[:_MOST_SAID]]
    left = len(problems) - len(said)
    return Refused("INVALID_PARAMS", "; ".join(said) + (f"; and {left} more" if left else ""))


def _told(kind: str, place: str, says: str) -> str:
    """Return what is wrong at a place, in the words of the wire."""
    known = _WORDS.get(kind)
    return f"'{place}': {says}" if known is None else f"'{place}' {known}"


_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
}


def _place(parts: tuple[int | str, ...]) -> str:
    return beginning(".".join(map(str, parts)), 100)


__all__ = ["understood"]
