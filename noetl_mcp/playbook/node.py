"""One value of a YAML text and where it stands. Knows nothing of playbooks."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Path: TypeAlias = tuple[str | int, ...]
_LOOKED_INTO, _PASSED_ON = 16, 250  # so many characters, of templates or not, weigh one value
Json: TypeAlias = "Scalar | list[Json] | dict[str, Json]"


class Mark(Protocol):
    """A position: all three count from zero."""

    @property
    def index(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


@dataclass(frozen=True, slots=True)
class At:
    """A mark made by us."""

    index: int = 0
    line: int = 0
    column: int = 0


class Node:
    """A scalar, a list or a mapping, with the marks of its text and of its key."""

    __slots__ = ("anchor", "end", "height", "key", "size", "start", "style", "value")

    def __init__(
        self,
        value: "Scalar | list[Node] | dict[str, Node]",
        start: Mark,
        end: Mark,
        style: str | None = None,
        key: "Node | None" = None,
    ) -> None:
        self.value = value
        self.start = start
        self.end = end
        self.style = style  # None, ', ", | or > of a scalar; "{" of a flow collection
        self.key = key
        self.size = 1
        self.height = 0
        self.anchor: str | None = None

    def become(self, value: "Scalar | list[Node] | dict[str, Node]") -> "Node":
        """Return another value that stands where this one stands."""
        return Node(value, self.start, self.end, self.style, self.key)

    def under(self, key: "Node | None") -> "Node":
        """Return the same value under another key."""
        return Node(self.value, self.start, self.end, self.style, key)

    @property
    def mapping(self) -> "dict[str, Node] | None":
        """The entries, when this is a mapping."""
        return self.value if isinstance(self.value, dict) else None

    @property
    def items(self) -> "list[Node] | None":
        """The items, when this is a list."""
        return self.value if isinstance(self.value, list) else None

    @property
    def text(self) -> str | None:
        """The text, when this is one."""
        return self.value if isinstance(self.value, str) else None

    def get(self, key: str) -> "Node | None":
        """Return the entry of a mapping; anything else has none."""
        return self.value.get(key) if isinstance(self.value, dict) else None

    @property
    def kind(self) -> str:
        """What a person would call this value."""
        return kind_of(self.value)


def kind_of(value: object) -> str:
    """Name the kind of a JSON value in plain words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case _:
            return "a map"


def plain(node: Node) -> Json:
    """Return the bare JSON value of a node."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return value


def weight(value: object) -> int:
    """Say how much there is to look at in a JSON value, where one value stands in many places."""
    heavy, stack = 0, [value]
    while stack:
        one = stack.pop()
        heavy += 1
        if isinstance(one, str):
            heavy += len(one) // (_LOOKED_INTO if "{{" in one or "{%" in one else _PASSED_ON)
        elif isinstance(one, dict):
            stack.extend(one.values())
        elif isinstance(one, (list, tuple)):
            stack.extend(one)
    return heavy


def find(node: Node, path: Path) -> Node:
    """Walk down a path as far as it exists and return what stands there."""
    for part in path:
        value = node.value
        if isinstance(value, dict) and part in value:
            node = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            node = value[part]
        else:
            break
    return node
