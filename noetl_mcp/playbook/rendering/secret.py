"""Hold a text that must not be seen.

Refuses to show itself: printing, formatting and logging give a mask, pickling and JSON fail.
Whatever is made of a secret by this module is a secret again; only `reveal` gives the text.
"""

from collections.abc import Iterator, Mapping
from functools import total_ordering
from typing import Any, NoReturn

MASK = "••••••"


@total_ordering
class Secret:
    """A text nobody should read: equal to the same text, shown as a mask."""

    __slots__ = ("__text",)

    def __init__(self, text: str) -> None:
        self.__text = str(text)

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
        return bool(self.__text == shown(other))

    def __lt__(self, other: "str | Secret") -> bool:
        if not isinstance(other, (str, Secret)):
            return NotImplemented
        return bool(self.__text < shown(other))

    def __contains__(self, part: "str | Secret") -> bool:
        return bool(shown(part) in self.__text)

    def __getitem__(self, place: int | slice) -> "Secret":
        return Secret(self.__text[place])

    def __iter__(self) -> "Iterator[Secret]":
        return map(Secret, self.__text)

    def __add__(self, other: "str | Secret") -> "Secret":
        if not isinstance(other, (str, Secret)):
            return NotImplemented
        return Secret(self.__text + shown(other))

    def __radd__(self, other: "str | Secret") -> "Secret":
        if not isinstance(other, (str, Secret)):
            return NotImplemented
        return Secret(shown(other) + self.__text)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret is never pickled")


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


def covered(value: object) -> object:
    """Return a value with every text inside as a secret; the keys of maps stay readable."""
    match value:
        case str():
            return Secret(value)
        case list():
            return [covered(item) for item in value]
        case tuple():
            return tuple(covered(item) for item in value)
        case dict():
            return {key: covered(item) for key, item in value.items()}
        case _:
            return value


__all__ = ["MASK", "Secret", "covered", "shown", "uncovered"]
