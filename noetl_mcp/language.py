"""Tell of a playbook's text what the faces tell: findings, plan, explanation, picture, v2 form.

Reads no file, and asks nothing of an installation.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from noetl_mcp.compiler.compile import Broken, compile_playbook, plan_of, run_passes
from noetl_mcp.diagnostics import Diagnostic
from noetl_mcp.playbook.load import Loaded, load
from noetl_mcp.tasks.registry import known_tasks

if TYPE_CHECKING:
    from noetl_mcp.compiler.plan import Plan

Form = Literal["mermaid", "text", "svg", "png"]
FORMS: tuple[Form, ...] = ("mermaid", "text", "svg", "png")
WIDTH = 100


class NotTheSame(Exception):
    """A playbook cannot be written in the v2 form without a change of its plan."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """The v2 form of a playbook, and what that form has no place for."""

    text: str
    lost: tuple[Diagnostic, ...]


def checked(loaded: Loaded) -> Loaded:
    """Return what was loaded with everything that is wrong with it in its report."""
    run_passes(loaded, known_tasks())
    return loaded


def planned(loaded: Loaded) -> "Plan":
    """Return the plan; raise Broken when anything is wrong."""
    return plan_of(loaded, known_tasks())


def explained(loaded: Loaded) -> str:
    """Return what a playbook will do; raise Broken when it does not compile."""
    from noetl_mcp.compiler.explain import explain

    return explain(planned(loaded))


def drawn(loaded: Loaded, form: Form, *, width: int = WIDTH, ascii_only: bool = False) -> bytes:
    """Return the steps as a picture; raise Broken when the playbook does not compile."""
    from noetl_mcp.compiler.pictured import picture_of

    picture = picture_of(planned(loaded))
    if form == "mermaid":
        from noetl_mcp.compiler.picture.mermaid import mermaid_of

        return mermaid_of(picture).encode()
    if form == "text":
        from noetl_mcp.compiler.picture.text_graph import text_of

        text = text_of(picture, width=width, ascii_only=ascii_only)
        return text.rstrip("\n").encode() + b"\n"
    if form == "svg":
        from noetl_mcp.compiler.picture.svg import svg_of

        return svg_of(picture).encode()
    from noetl_mcp.compiler.picture.png import png_of

    return png_of(picture)


def migrated(loaded: Loaded) -> Migrated:
    """Return the v2 form; raise Broken when there is no plan, NotTheSame when there is another."""
    from noetl_mcp.playbook.writing import write_playbook
    from noetl_mcp.rules import dialect

    losses = (dialect.DROPPED_KEY, dialect.KEYCHAIN, dialect.SEVERAL_INPUTS)
    plan = planned(loaded)
    text = write_playbook(loaded.source)
    again = compile_playbook(load(text, loaded.source.file), known_tasks())
    if again is None or again.digest != plan.digest:
        raise NotTheSame(
            f"'{loaded.source.file}' cannot be written in the v2 form without a change of its "
            "plan; nothing was written. Please report this."
        )
    return Migrated(text, tuple(one for one in loaded.report if one.rule in losses))


__all__ = [
    "FORMS",
    "WIDTH",
    "Broken",
    "Form",
    "Migrated",
    "NotTheSame",
    "checked",
    "drawn",
    "explained",
    "migrated",
    "planned",
]
