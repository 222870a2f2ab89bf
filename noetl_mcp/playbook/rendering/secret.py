"""Hold a text that must not be seen.

Refuses to show itself: printing, formatting and logging give a mask, pickling and JSON fail.
Whatever is made of a secret by this module is a secret again, and knows the secrets that it was
made of; only `reveal` gives the text. Refuses to be guessed piece by piece: it has no order, no
text is looked for in it, and what was cut out of it or changed equals nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from jinja2 import TemplateRuntimeError

MASK = "••••••"
_SHORTEST = 4  # signs that are taken for the beginning of a secret


class Secret:
    """A text nobody should read: as a whole equal to the same text, shown as a mask."""

    __slots__ = ("__atoms", "__text", "__whole")

    def __init__(self, text: str, atoms: Iterable[str] | None = None, whole: bool = True) -> None:
        """Take a text, the secrets that are in it, and whether it was only put together of them."""
        self.__text = str(text)
        self.__atoms = atoms
        self.__whole = whole

    @property
    def atoms(self) -> frozenset[str]:
        """The secret texts that this one was made of, itself only where it is one."""
        return frozenset((self.__text,) if self.__atoms is None else self.__atoms)

    def within(self, text: str) -> "Secret":
        """Return a text in which this one stands as it is, and no other secret."""
        return Secret(text, (self.__text,) if self.__atoms is None else self.__atoms, self.__whole)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was cut out or changed."""
        return self.__whole

    def reveal(self) -> str:
        """Return the text itself, for whoever must send it."""
        return self.__text

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self.__text)

    def __len__(self) -> int:
        return len(self.__text)

    def __hash__(self) -> int:
        return hash(self.__text)

    def __eq__(self, other: object) -> bool:
        if not self.__whole or (isinstance(other, Secret) and not other.__whole):
            refuse("only whole secrets can be compared, not parts of them or what was made of them")
        return bool(self.__text == shown(other))

    def __lt__(self, other: object) -> NoReturn:
        refuse("secrets have no order: they can only be asked whether they are equal")

    __gt__ = __le__ = __ge__ = __lt__

    def __contains__(self, part: object) -> NoReturn:
        refuse("nothing can be looked for in a secret")

    def __getitem__(self, place: int | slice) -> "Secret":
        return changed(self.__text[place], self.atoms)

    def __iter__(self) -> "Iterator[Secret]":
        atoms = self.atoms
        return (changed(piece, atoms) for piece in self.__text)

    def __add__(self, other: "str | Secret") -> "Secret":
        return self._with(other, self.__text, shown(other))

    def __radd__(self, other: "str | Secret") -> "Secret":
        return self._with(other, shown(other), self.__text)

    def _with(self, other: "str | Secret", before: str, after: str) -> "Secret":
        if not isinstance(other, (str, Secret)):
            return NotImplemented
        return composed(before + after, (self, other))

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret is never pickled")


def refuse(reason: str) -> NoReturn:
    """Refuse what would let a secret be guessed."""
    raise TemplateRuntimeError(reason)


def composed(text: str, parts: Iterable[object]) -> Secret:
    """Return a text in which some secrets stand as they are."""
    secrets = [part for part in parts if isinstance(part, Secret)]
    if len(secrets) == 1:
        return secrets[0].within(text)
    whole = all(part.is_whole for part in secrets)
    return Secret(text, frozenset().union(*(part.atoms for part in secrets)), whole)


def changed(text: str, atoms: Iterable[str]) -> Secret:
    """Return a text that was cut out of secrets or computed from them: a secret of its own."""
    return Secret(text, (*atoms, text), whole=False)


def atoms_of(*values: object) -> frozenset[str]:
    """Return the secret texts in some values; their depth must be known as bounded."""
    found: set[str] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Secret):
            found |= value.atoms
        elif isinstance(value, Mapping):
            waiting += (*value.keys(), *value.values())
        elif isinstance(value, (list, tuple)):
            waiting += value
    return frozenset(found)


def beginning_at_end(text: str, secrets: Iterable[str], least: int = _SHORTEST) -> int:
    """Return how many signs at the end of a text begin a secret that does not end there."""
    last, longest = text[-least:], 0
    if len(last) < least:
        return 0
    for secret in secrets:
        at = secret.rfind(last, 0, len(secret) - 1)
        while at >= 0 and (length := at + least) > longest:
            if text.endswith(secret[:length]):
                longest = length
            at = secret.rfind(last, 0, length - 1)
    return longest


def end_at_beginning(text: str, secrets: Iterable[str]) -> int:
    """Return how many signs at the beginning of a text end a secret that does not begin there."""
    first, longest = text[:_SHORTEST], 0
    if len(first) < _SHORTEST:
        return 0
    for secret in secrets:
        at = secret.find(first, 1)
        while at >= 0 and (length := len(secret) - at) > longest:
            if text.startswith(secret[at:]):
                longest = length
            at = secret.find(first, at + 1)
    return longest


def shown(text: Any) -> Any:
    """Return the plain text of a secret, and anything else as it is."""
    return text.reveal() if isinstance(text, Secret) else text


def uncovered(value: object) -> object:
    """Return a value with every secret inside as plain text; its depth must be known as bounded."""
    match value:
        case Secret():
            return value.reveal()
        case list():
            return [uncovered(item) for item in value]
        case tuple():
            return tuple(uncovered(item) for item in value)
        case Mapping():
            return {uncovered(key): uncovered(item) for key, item in value.items()}
        case _:
            return value


def covered(value: object, atoms: Iterable[str] = ()) -> object:
    """Return a value with every text inside as a secret; the keys of maps stay readable."""
    match value:
        case str():
            return changed(value, atoms)
        case list():
            return [covered(item, atoms) for item in value]
        case tuple():
            return tuple(covered(item, atoms) for item in value)
        case dict():
            return {key: covered(item, atoms) for key, item in value.items()}
        case _:
            return value


__all__ = [
    "MASK",
    "Secret",
    "atoms_of",
    "beginning_at_end",
    "changed",
    "composed",
    "covered",
    "end_at_beginning",
    "refuse",
    "shown",
    "uncovered",
]
