"""Make ready what a call says to a database: its statements with their parameters in place.

Refuses scripts that begin or end transactions themselves, for the step decides that, and what a
reader must not say. Opens nothing.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from noetl_mcp.playbook.rendering.hiding import hidden
from noetl_mcp.tasks.calls import Call, Failed, HandedBack, Statement, UnknownOutcome
from noetl_mcp.tasks.sql_pieces import MARKS, Token, first_words, refused, tokens
from noetl_mcp.tasks.sql_text import parts, put_together, secrets_of, split, unused_mark

Spots = Sequence[Token]
Look = Callable[[Spots, int], tuple[object] | None]

_NOT_BEFORE = frozenset(("word", "number", "name", "text"))
_ENDS = frozenset(("ABORT", "BEGIN", "COMMIT", "END", "ROLLBACK", "START"))


class Script(Protocol):
    """The settings that say what is said to a database."""

    @property
    def params(self) -> object: ...


def script(call: Call) -> tuple[Statement, ...]:
    """Return the statements of a call, with `params` in their places."""
    settings: Script = call.settings
    statements = tuple(call.sql) or decoded(getattr(settings, "sql_b64", None) or ())
    if not statements:
        raise refused("there is no statement to send")
    for number, statement in enumerate(statements, 1):
        refuse_control(statement.text, number)
    return with_params(statements, settings.params)


def decoded(scripts: Sequence[str]) -> tuple[Statement, ...]:
    """Return the statements of scripts in base64, in which nothing is rendered."""
    found: list[Statement] = []
    for one in scripts:
        try:
            text = b64decode("".join(one.split()), validate=True).decode()
        except ValueError:
            raise refused("the SQL is not the base64 form of a text") from None
        found += split(text)
    return tuple(found)


def refuse_control(text: str, number: int) -> None:
    """Refuse a statement that begins or ends a transaction."""
    words = first_words(text)
    if words[:1] == ("ROLLBACK",) and "TO" in words[:3]:
        return
    if (words and words[0] in _ENDS) or words[:2] == ("PREPARE", "TRANSACTION"):
        raise refused(
            f"statement {number} is {words[0]}: leave transactions to the step, which is one as a "
            "whole; with 'transaction: false' each statement is one"
        )
    if words[:1] == ("SET",) and "TRANSACTION" in words:
        raise refused(f"statement {number} changes the transaction: use 'isolation' and 'writes'")


def refuse_reaching_out(statement: Statement) -> None:
    """Refuse what a read-only transaction would let through, for nobody could take it back.

    COPY writes files and runs programs, and a block of code may hold one; LOAD runs a library.
    The server takes one statement at a time and has these only as its first word, before which
    no quote can stand; so it does not matter how the server reads the rest.
    """
    first = next((one for one in tokens(statement.text, MARKS[0]) if one.says), None)
    if first is None or (first.kind != "word" and first.text != "("):
        raise refused("a statement begins with a word or a parenthesis")
    if first.upper == "COPY":
        raise refused("COPY may write a file or run a program: use SELECT, or say 'writes: true'")
    if first.upper in ("DO", "LOAD"):
        raise refused(f"nobody sees what {first.upper} brings about: say 'writes: true'")


def demand_lease(may_send: Callable[[], None], statement: int | None, *, is_kept: bool) -> None:
    """Ask before a write whether the lease still holds; what was kept cannot be handed back."""
    try:
        may_send()
    except HandedBack as problem:
        if not is_kept:
            raise
        said = f"the lease was lost after statements that were kept: {problem}"
        raise UnknownOutcome("lease-lost", said, evidence={"statement": statement}) from None


def with_params(statements: Sequence[Statement], params: object) -> tuple[Statement, ...]:
    """Return the statements with parameters in their places: `:name` of a map, `%s` of a list."""
    if params is None:
        return tuple(statements)
    if isinstance(params, Mapping):
        return tuple(
            _filled(one, lambda spots, at: _named(spots, at, params)) for one in statements
        )
    if not isinstance(params, list):
        raise refused("'params' is neither a map nor a list")
    rest = iter(params)
    made = tuple(_filled(one, lambda spots, at: _listed(spots, at, rest)) for one in statements)
    if left := sum(1 for _ in rest):
        raise refused(f"'params' has {left} more than there are %s places")
    return made


def _filled(statement: Statement, look: Look) -> Statement:
    """Put values where `look` finds places of two tokens; those bound before stay."""
    mark = unused_mark(statement.text)
    spots = list(tokens(mark.join(parts(statement)), mark))
    bound, pieces, values = iter(statement.values), list[str | None](), list[object]()
    at = 0
    while at < len(spots):
        found = None if spots[at].kind == "place" else look(spots, at)
        if spots[at].kind == "place":
            values.append(next(bound))
        elif found:
            values.append(found[0])
            at += 1
        else:
            pieces.append(spots[at].text)
            at += 1
            continue
        pieces.append(None)
        at += 1
    return put_together(pieces, values)


def _named(spots: Spots, at: int, params: Mapping[str, object]) -> tuple[object] | None:
    """Return the value of a `:name`; a cast, a slice or the key of a struct is none."""
    if spots[at].text != ":" or at + 1 == len(spots) or spots[at + 1].kind != "word":
        return None
    if at and (spots[at - 1].kind in _NOT_BEFORE or spots[at - 1].text in (":", "]", ")")):
        return None
    name = spots[at + 1].text
    if name in params:
        return (params[name],)
    if sum({"[": 1, "]": -1}.get(spot.text, 0) for spot in spots[:at]) > 0:
        return None  # the upper bound of a slice, a[:n]
    raise refused(f"'params' has no '{name}' for :{name}")


def _listed(spots: Spots, at: int, rest: Iterator[object]) -> tuple[object] | None:
    """Return the next value for a `%s`."""
    if spots[at].text != "%" or at + 1 == len(spots) or spots[at + 1].text != "s":
        return None
    for value in rest:
        return (value,)
    raise refused("'params' has fewer values than there are %s places")


def secrets_in(statements: Sequence[Statement]) -> frozenset[str]:
    """Return the secret texts among the values, so that no message shows them."""
    return secrets_of(value for one in statements for value in one.values) - {""}


def masked(text: str, secrets: frozenset[str]) -> str:
    """Return a message in which no secret can be read."""
    return hidden(text, secrets)


@dataclass(frozen=True, slots=True)
class Most:
    """How much the answer to one statement may hold."""

    rows: int = 10_000
    bytes: int = 67_108_864

    def demand(self, rows: int, size: int, *, done: bool = False) -> None:
        """Refuse an answer that holds more; `done` says that its statement stands all the same."""
        if rows > self.rows:
            code, said, key = "too-many-rows", f"has more than {self.rows:,} rows", "max_rows"
        elif size > self.bytes:
            code, said, key = "too-large", f"has more than {self.bytes:,} bytes", "max_bytes"
        else:
            return
        words = f"the answer {said}; ask for less, raise '{key}', or carry them with"
        words += " 'type: transfer'" + ("; the statement itself was carried out" if done else "")
        raise Failed(code, words, retriable=False)


def size_of(value: object) -> int:
    """Return how long the texts and bytes in a value are, however deep they stand in it."""
    size, rest = 0, [value]
    while rest:
        one = rest.pop()
        if isinstance(one, (str, bytes)):
            size += len(one)
        elif isinstance(one, Mapping):
            rest += one.keys()
            rest += one.values()
        elif isinstance(one, (list, tuple)):
            rest += one
    return size


__all__ = [
    "Look",
    "Most",
    "Script",
    "Spots",
    "decoded",
    "demand_lease",
    "masked",
    "refuse_control",
    "refuse_reaching_out",
    "script",
    "secrets_in",
    "size_of",
    "with_params",
]
