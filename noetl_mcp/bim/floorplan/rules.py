"""A rule that a plan can break: its code, how bad that is, and the words for it. Judges nothing."""

from dataclasses import dataclass
from typing import Any

from noetl_mcp.bim.floorplan.findings import Finding

ERROR = "error"
WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong.

    `type` is the kind that the tools answer; `message` has names in braces for what is filled in;
    `when` says when it is found, for the reference.
    """

    code: str
    severity: str
    type: str
    message: str
    when: str

    def found(
        self,
        start: int,
        end: int,
        *,
        about: str | None = None,
        about_all: tuple[str, ...] = (),
        variable: str | None = None,
        **words: Any,
    ) -> Finding:
        """Return it as found at a place; `about` is the room that the answer names."""
        message = self.message.format_map(words)
        return Finding(
            self.severity, self.type, message, self.code, start, end, about, about_all, variable
        )


def of_language(code: str, severity: str, message: str, when: str) -> Rule:
    """Return a rule of the language's own checks: errors are `connection`, warnings `wall_type`."""
    kind = "connection" if severity == ERROR else "wall_type"
    return Rule(code, severity, kind, message, when)


def hint(code: str, message: str, when: str, kind: str = "wall_type") -> Rule:
    """Return a rule that the language does not have; it never makes a plan invalid."""
    return Rule(code, WARNING, kind, message, when)
