"""The questions that have a name: one file for each, whose first line says what is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("questions")


@dataclass(frozen=True, slots=True)
class Question:
    """A named question: what it asks, in words and in SQL."""

    name: str
    says: str
    sql: str


@cache
def questions() -> Mapping[str, Question]:
    """Return all named questions by their names."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.sql"))}


def _read(path: Path) -> Question:
    first, _, sql = path.read_text(encoding="utf-8").partition("\n")
    return Question(path.stem, first.removeprefix("--").strip(), sql.strip())


__all__ = ["FOLDER", "Question", "questions"]
