"""The type of a value that must be one of some words, for models whose words stand in tables."""

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True, slots=True)
class OneOf:
    """Annotation of a text: `Annotated[str, OneOf(UNITS)]` takes the words of the table only."""

    words: tuple[str, ...]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.literal_schema(list(self.words))
