"""Read JSON as its standard has it: `NaN` and `Infinity` are no numbers. Guesses nothing."""

import json
from typing import NoReturn

from noetl_mcp.playbook.node import Json


def strict_json(text: str) -> Json:
    """Return what a text spells; raise ValueError for no JSON, RecursionError for too deep."""
    found: Json = json.loads(text, parse_constant=_no_number)
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


__all__ = ["strict_json"]
