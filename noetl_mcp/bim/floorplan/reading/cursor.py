"""Where the parser stands, what it found wrong, and how it goes on. It knows no clause by name.

An error is written down once, where it is; then `Lost` carries the parser to whoever knows where
to go on, who skips to a sign that begins something. Skipping only goes forwards.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.scanner import is_number, is_string, scanner_of
from noetl_mcp.bim.floorplan.tree import Name
from noetl_mcp.bim.floorplan.words import Words

MOST_ERRORS = 100
DEEPEST = 64

# What begins a thing of its own, wherever it stands; a name can be none of these.
BEGINNINGS = frozenset(
    ("room", "sub-room", "stair", "lift", "floor", "connect", "vertical", "define", "config")
)
_OPENS = frozenset("[{")
_CLOSES = frozenset("]}")
_SHOWN = 40


# The walls of one list: side, kind, and where entry and kind begin and end within the list.
PlainWalls = tuple[tuple[str, str, int, int, int], ...]


class Lost(Exception):
    """The parser cannot go on here; the reason is written down already."""


def either(words: Iterable[str]) -> str:
    """Write `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


class Cursor:
    """A place in the signs of one text, and the errors found so far."""

    __slots__ = (
        "depth",
        "ends",
        "errors",
        "grammar",
        "i",
        "plain",
        "scanner",
        "text",
        "texts",
        "words",
    )

    def __init__(
        self,
        text: str,
        words: Words,
        grammar: "Mapping[str, Clauses]",
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self.text = text
        self.words = words
        self.grammar = grammar
        self.scanner = scanner_of(words)
        self.texts, self.ends = self.scanner.scanned(text, start, stop)
        self.plain: dict[str, PlainWalls] = {}
        self.i = 0
        self.depth = 0
        self.errors: list[Finding] = []

    @property
    def start(self) -> int:
        """Where the sign begins at which the parser stands."""
        return self.ends[self.i] - len(self.texts[self.i])

    @property
    def end(self) -> int:
        """Where the last sign ended that was read."""
        return self.ends[self.i - 1]

    def found(self, code: str, message: str, start: int, end: int, expected: Iterable[str]) -> None:
        """Write an error down, one for each place; more than anybody reads are not kept."""
        if self.errors and self.errors[-1].start == start:
            return
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(
                Finding("error", "parse", message, code, start, end, expected=tuple(expected))
            )

    def expected(self, what: str, among: Collection[str] = (), at: int | None = None) -> None:
        """Write down what was expected here, or at another sign, and what stands there."""
        if len(self.errors) >= MOST_ERRORS:
            return
        index = self.i if at is None else at
        sign = self.texts[index]
        wanted = f"{what}: {either(among)}" if among else what
        if not sign:
            last = self.ends[index - 1] if index else self.ends[0]
            message = f"Expected {wanted}, but the text ends here."
            self.found("unexpected-end", message, last, last, among)
            return
        shown = sign if len(sign) <= _SHOWN else sign[:_SHOWN] + "…"
        message = f"Expected {wanted}, but found {shown if is_string(sign) else repr(shown)}."
        end = self.ends[index]
        advice = self._advice(sign, index, among)
        self.found("unexpected", message + advice, end - len(sign), end, among)

    def lost(self, what: str, among: Collection[str] = ()) -> Lost:
        """Write down what was expected here and return what is to be raised."""
        self.expected(what, among)
        return Lost()

    def _advice(self, sign: str, index: int, among: Collection[str]) -> str:
        if sign[0] in "\"'" and not is_string(sign):
            return " This string never ends."
        if sign.startswith("/*"):
            return " This comment never ends."
        if sign == "/" and self.texts[index + 1] == "/":
            return " Comments begin with '#' or stand between '/*' and '*/'."
        before = self.texts[index - 1]
        touches = index and self.ends[index - 1] + len(sign) == self.ends[index]
        if touches and before.isidentifier() and (sign == "-" or not sign.isascii()):
            return " Names have letters from a to z, digits and '_'."
        if sign == "-":
            return " Numbers have no sign."
        if sign[0] == "x" and sign[1:].isdigit():
            return " Put a space behind the 'x'."
        if len(sign) > _SHOWN:
            return ""
        near = get_close_matches(sign, among, 1) or get_close_matches(sign.lower(), among, 1)
        return f" Did you mean '{near[0]}'?" if near else ""

    def take(self, sign: str) -> None:
        """Step over a sign that must stand here."""
        if self.texts[self.i] != sign:
            raise self.lost(f"'{sign}'")
        self.i += 1

    def passes(self, sign: str) -> bool:
        """Step over a sign if it stands here."""
        if self.texts[self.i] != sign:
            return False
        self.i += 1
        return True

    def one_of(self, what: str, among: Collection[str]) -> str:
        """Step over a word that must be one of these, and return it."""
        sign = self.texts[self.i]
        if sign not in among:
            raise self.lost(what, among)
        self.i += 1
        return sign

    def number(self, what: str = "a number") -> float:
        """Step over a number; none is longer than anything that can be built."""
        sign = self.texts[self.i]
        if not is_number(sign):
            raise self.lost(what)
        value = float(sign)
        if value > 1e12:
            raise self.lost("a number below a million millions")
        self.i += 1
        return value

    def string(self, what: str = "a text in quotes") -> str:
        """Step over a string and return it with its quotes."""
        sign = self.texts[self.i]
        if not is_string(sign):
            raise self.lost(what)
        self.i += 1
        return sign

    def name(self, what: str) -> Name:
        """Step over a name."""
        i = self.i
        sign = self.texts[i]
        if not self.words.may_name(sign):
            if sign in self.words.reserved:
                what = f"{what} ('{sign}' is a word of the language)"
            raise self.lost(what)
        self.i = i + 1
        end = self.ends[i]
        return Name(sign, end - len(sign), end)

    def skip(self, stops: Collection[str], begun: int | None = None) -> None:
        """Go on at the next of these signs, at what begins a thing, or where a bracket closes.

        Brackets that open on the way are passed as a whole, and so are those that are open since
        the clause that was `begun` there; nothing that begins a thing is passed.
        """
        texts = self.texts
        opened = 0 if begun is None else self._open_since(begun)
        i = self.i
        while (sign := texts[i]) and sign not in BEGINNINGS:
            if not opened and (sign in stops or sign in _CLOSES):
                break
            opened += (sign in _OPENS) - (sign in _CLOSES)
            i += 1
        self.i = i

    def _open_since(self, begun: int) -> int:
        passed = self.texts[begun : self.i]
        return max(0, sum((sign in _OPENS) - (sign in _CLOSES) for sign in passed))


Reader = Callable[[Cursor], Any]
Clauses = Mapping[str, tuple[str, Reader]]


class Got(dict[str, Any]):
    """What the clauses of one thing said; `order` has (slot, index of its first sign)."""

    __slots__ = ("broken", "order", "stopped")

    def __init__(self) -> None:
        super().__init__()
        self.order: list[tuple[str, int]] = []
        self.broken: set[str] = set()
        self.stopped = 0


def clauses(c: Cursor, known: Clauses, follows: Collection[str], owner: str) -> Got:
    """Read the clauses of one thing, in any order, until something comes that may follow it."""
    got = Got()
    texts = c.texts
    while True:
        sign = texts[c.i]
        slot, read = known.get(sign, ("", None))
        if read is None:
            if sign in follows or not sign:
                got.stopped = c.i
                return got
            if not got.broken:
                got.order.append(("", c.i))
            _stray(c, known, follows, owner, got)
            continue
        if slot in got or slot in got.broken:
            message = f"{owner.capitalize()} says '{slot}' twice."
            c.found("said-twice", message, c.start, c.ends[c.i], ())
        else:
            got.order.append((slot, c.i))
        begun = c.i
        try:
            value = read(c)
        except Lost:
            got.broken.add(slot)
            c.skip(known, begun)
            continue
        got.setdefault(slot, value)


def _stray(c: Cursor, known: Clauses, follows: Collection[str], owner: str, got: Got) -> None:
    """Write down a sign that begins no clause and go on behind it."""
    among = [word for word, (slot, _) in known.items() if slot not in got]
    c.expected(f"something that {owner} can have", among)
    got.broken.add("")
    here = c.i
    c.skip((*known, *follows))
    c.i = max(c.i, here + 1)


def require(c: Cursor, got: Got, needs: Mapping[str, Collection[str]], owner: str) -> bool:
    """Say whether every needed clause is there; the first that is missing becomes an error.

    It is missing where it belongs: behind the clauses that usually stand before it.
    """
    for slot, before in needs.items():
        if slot in got:
            continue
        if not got.broken:
            later = (index for found, index in got.order if found not in before)
            c.expected(f"'{slot}': {owner} must have it", at=next(later, got.stopped))
        return False
    return True
