"""What a tool around floor plans answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers: the facts, and a picture or a text that comes before them."""

    facts: Mapping[str, Any]
    picture: bytes | None = None
    text: str | None = None
