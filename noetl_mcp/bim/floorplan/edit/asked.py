"""Read operations as they came, and say in sentences what is wrong with those that nobody knows.

It refuses all of them when one is wrong: whoever misspells one may mean another thing by the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from noetl_mcp.bim.floorplan.edit.operations import OPERATION, AnyOperation
from noetl_mcp.bim.floorplan.misfits import misfits

_MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class Asking:
    """Operations, or what is wrong with them: message and number of the operation."""

    operations: tuple[AnyOperation, ...]
    wrong: tuple[Mapping[str, Any], ...] = ()


def asked_of(operations: Sequence[AnyOperation | Mapping[str, Any]]) -> Asking:
    """Return operations as their models."""
    read: list[AnyOperation] = []
    wrong: list[Mapping[str, Any]] = []
    for index, given in enumerate(operations):
        if isinstance(given, BaseModel):
            read.append(given)
            continue
        try:
            read.append(OPERATION.validate_python(given))
        except ValidationError as refused:
            wrong += [
                {"message": f"operations[{index}]{one.place}: {one.says}", "operation": index}
                for one in misfits(refused, given)
            ]
    return Asking((), tuple(wrong[:_MOST_TOLD])) if wrong else Asking(tuple(read))
