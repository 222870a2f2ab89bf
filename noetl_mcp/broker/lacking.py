"""Say before the first step which secrets and credentials a playbook asks for and nobody gave.

Warns only: a step that needs one may never be reached. Opens no credential.
"""

from collections.abc import Collection, Mapping
from typing import Any

from noetl_mcp.broker.names import set_secret
from noetl_mcp.broker.typed import typed
from noetl_mcp.compiler.asked_for import asked_for


def lacking(
    content: Mapping[str, Any], secrets: Collection[str], credentials: Collection[str] | None
) -> list[str]:
    """Return a warning for each thing that is missing; None: it is not known which there are."""
    asked = asked_for(content)
    found = [
        f"Warning: not-given: there is no secret '{name}'; {set_secret(name)}"
        for name in asked.secrets
        if name in asked.needed and name not in secrets
    ]
    if credentials is None:
        return found
    return found + [
        f"Warning: not-given: there is no credential '{name}'; store it with:"
        f" {typed('credential', 'set', name)} …"
        for name in asked.credentials
        if name not in credentials
    ]


__all__ = ["lacking"]
