"""What a picture of a workflow consists of: boxes and arrows. It refuses to know where they stand.

The values are made from a compiled workflow; `layout` places them, and `svg`, `png`, `text_graph`
and `mermaid` draw them. Nothing here is checked: a picture of a faulty workflow must be drawable.
"""

from dataclasses import dataclass
from typing import Literal

ArrowKind = Literal["next", "error", "need"]


@dataclass(frozen=True, slots=True)
class Box:
    """A step: its name, its task type, and what a reader must see at a glance."""

    name: str
    kind: str
    hidden: bool = False
    writes: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A way from one step to another: what is next, where errors go, or whose result is needed."""

    source: str
    target: str
    label: str = ""
    kind: ArrowKind = "next"


@dataclass(frozen=True, slots=True)
class Picture:
    """A workflow to be drawn, in the order in which it was written."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
