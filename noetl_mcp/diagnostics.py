"""What is wrong and where. Judges nothing; the caller names the rule, this module the place."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from noetl_mcp.errors import Rule, Severity

MOST_DIAGNOSTICS = 500
MOST_CANDIDATES = 5_000
MOST_LOOKS = 50_000


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A stretch of a file; lines and columns count from one, the end is exclusive."""

    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: the same object is printed, underlined, sent as JSON and returned by tools."""

    file: str
    rule: Rule
    message: str
    place: Place
    suggestion: str | None
    help: str

    @property
    def severity(self) -> Severity:
        """How bad it is; errors stop a playbook from being used."""
        return self.rule.severity

    def as_json(self) -> dict[str, str | int | None]:
        """Return the shape that `--format json` prints."""
        return {
            "file": self.file.encode("utf-8", "replace").decode(),
            "code": self.rule.code,
            "name": self.rule.name,
            "severity": self.rule.severity,
            "message": self.message,
            "line": self.place.line,
            "column": self.place.column,
            "end_line": self.place.end_line,
            "end_column": self.place.end_column,
            "suggestion": self.suggestion,
            "help": self.help,
        }


class Located(Protocol):
    """Finds places in a text: by the path of a value, and by a word inside that value."""

    file: str

    def place(self, path: tuple[str | int, ...], *, key: bool, word: str | None) -> Place:
        """Return where the value at `path` stands, or its key, or a word inside it."""
        ...

    def line_in(self, path: tuple[str | int, ...], number: int) -> Place:
        """Return a line of a block of text, or the whole where there are no such lines."""
        ...


class Report:
    """Collects what is found in one file, without doubles, up to a bound.

    Errors have their own bound, so that no number of hints hides that there is one.
    """

    def __init__(self, source: Located) -> None:
        self.source = source
        self._found: dict[tuple[str, Place, str], Diagnostic] = {}
        self._counts = {True: 0, False: 0}
        self._looks = MOST_LOOKS
        self.dropped = 0

    def say(
        self,
        rule: Rule,
        at: Place | tuple[str | int, ...],
        *,
        at_key: bool = False,
        word: str | None = None,
        suggestion: str | None = None,
        **words: object,
    ) -> None:
        """Add a finding at a place, or at the path of a value (its key, a `word` inside it)."""
        is_error = rule.severity == "error"
        if self._counts[is_error] >= MOST_DIAGNOSTICS:
            self.dropped += 1
            return
        place = at if isinstance(at, Place) else self.source.place(at, key=at_key, word=word)
        shown = {name: shorten(str(value)) for name, value in words.items()}
        if shown.get("known", "").endswith("…"):
            shown["known"] = f"{shown['known'].rpartition(', ')[0]}, …"
        message = rule.message.format(**shown)
        found = Diagnostic(
            self.source.file, rule, message, place, suggestion, rule.help.format(**shown)
        )
        if self._found.setdefault((rule.code, place, message), found) is found:
            self._counts[is_error] += 1

    def near(self, word: str, known: Collection[str] | Callable[[], Collection[str]]) -> str | None:
        """Return the closest known name; only while all looking is still a matter of a moment."""
        if self._looks <= 0:
            return None
        names = known() if callable(known) else known
        self._looks -= len(names)
        return closest(word, names)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return the findings in reading order, errors before hints on the same spot."""
        return tuple(sorted(self._found.values(), key=_order))

    def has(self, severity: Severity = "error") -> bool:
        """Whether anything of this severity was found."""
        return any(found.severity == severity for found in self._found.values())

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.sorted())


def _order(found: Diagnostic) -> tuple[Place, int, str]:
    rank = {"error": 0, "warning": 1, "hint": 2}
    return found.place, rank[found.severity], found.rule.code


def shorten(text: str, most: int = 200) -> str:
    """Cut a long value for a message, on one line, and show that it was cut."""
    begin = text[: most * 10]
    flat = "".join(c if c.isprintable() else "�" for c in " ".join(begin.split()))
    is_whole = len(flat) <= most and len(begin) == len(text)
    return flat if is_whole else flat[: most - 1] + "…"


def closest(word: str, known: Collection[str]) -> str | None:
    """Return the known name nearest to `word`, or None when none is near."""
    if not word or len(word) > 200 or len(known) > MOST_CANDIDATES:
        return None
    folded = {_fold(name): name for name in sorted(known, reverse=True)}
    if _fold(word) in folded:
        return folded[_fold(word)]
    from difflib import get_close_matches  # only when something is wrong

    near = get_close_matches(_fold(word), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def _fold(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")
