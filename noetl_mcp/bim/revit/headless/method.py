"""What a method is: its name, what it may be asked, what answers it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless.asking import Asked
from noetl_mcp.bim.revit.headless.document import Document

Answer = dict[str, Any]


class Method(NamedTuple):
    """A method that reads a model."""

    name: str
    says: str
    asks: type[Asked]
    does: Callable[[Document, Any], Answer]


__all__ = ["Answer", "Method"]
