"""What a name stands for when there is more to it than a value: a result, or names in a row.

A `View` is met only at the beginning of a path: `{{ s.status }}` looks into it, and everywhere else
`s` is the value itself, so that no filter, operator or result ever holds one. Looks nothing up by
itself; the sandbox does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn, Protocol

from jinja2 import TemplateRuntimeError

ITSELF: Final = object()
"""Under a name of a view: the view itself."""


class Fallback(Protocol):
    """Something that may know a name."""

    def __contains__(self, name: object, /) -> bool: ...
    def __getitem__(self, name: str, /) -> object: ...


NOTHING: Mapping[str, object] = {}


class View:
    """A value with names around it: `first` wins over its own keys, `fallbacks` come after them."""

    __slots__ = ("fallbacks", "first", "value")

    def __init__(
        self,
        value: Any,
        fallbacks: tuple[Fallback, ...] = (),
        first: Mapping[str, object] = NOTHING,
    ) -> None:
        self.value = value
        self.fallbacks = fallbacks
        self.first = first


class Items(dict[str, Any]):
    """A map that is read as one of its lists: indexed, looped over and measured."""

    __slots__ = ("plain", "results")

    def __init__(self, plain: dict[str, Any], results: list[Any]) -> None:
        super().__init__(plain)
        self.plain = plain
        self.results = results

    def __getitem__(self, key: Any) -> Any:
        return self.results[key] if isinstance(key, (int, slice)) else super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.results)

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.results[::-1])

    def __len__(self) -> int:
        return len(self.results)

    def __contains__(self, item: object) -> bool:
        return item in self.results


class Named(Mapping[str, Any]):
    """Values that are found one by one, by name; all of them only when they can be listed.

    `remedy` says, of a name that is not there, how whoever runs the program can give it.
    """

    __slots__ = ("_find", "_list", "called", "remedy")

    def __init__(
        self,
        called: str,
        find: Callable[[str], object],
        every: Callable[[], Iterable[str]] | None = None,
        remedy: Callable[[str], str] | None = None,
    ) -> None:
        self.called = called
        self._find = find
        self._list = every
        self.remedy = remedy

    def __getitem__(self, name: str) -> Any:
        return self._find(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._list()) if self._list is not None else self._refuse()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True

    def _refuse(self) -> NoReturn:
        raise TemplateRuntimeError(f"{self.called} are read one by one, by name")


def bare(value: Any) -> Any:
    """Return the value itself of what a name or a path stands for."""
    return value.value if value.__class__ is View else value


__all__ = ["ITSELF", "NOTHING", "Fallback", "Items", "Named", "View", "bare"]
