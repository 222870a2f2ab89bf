"""All methods that the headless server answers, by name, and what it says of those it does not."""

from collections.abc import Mapping
from types import MappingProxyType

from noetl_mcp.bim.revit.headless import (
    describing,
    kinds,
    listing,
    project,
    searching,
    telling,
)
from noetl_mcp.bim.revit.headless.method import Method

READS: Mapping[str, Method] = MappingProxyType(
    {
        one.name: one
        for one in (
            *project.METHODS,
            *listing.METHODS,
            *kinds.METHODS,
            *searching.METHODS,
            *describing.METHODS,
            *telling.METHODS,
        )
    }
)

__all__ = ["READS"]
