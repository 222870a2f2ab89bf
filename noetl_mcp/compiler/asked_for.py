"""Say which secrets and credentials a plan asks for. Pure: whether they are there, others know.

What only a template names is not known before it runs, and is left out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noetl_mcp.compiler.plan import TEMPLATE_MARK

_SECRET = re.compile(r"\bsecrets\.(\w+)")
_MAY_BE_MISSING = re.compile(r"\bdefault\b|\bdefined\b|\|\s*d\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """The names of what is asked for, in their order."""

    secrets: tuple[str, ...]
    credentials: tuple[str, ...]
    needed: frozenset[str]
    """The secrets that some template cannot do without."""


def asked_for(content: Mapping[str, Any]) -> Asked:
    """Return what a plan asks for."""
    secrets, needed = set[str](), set[str]()
    for template in content["templates"]:
        if "secrets" not in template.get("names", ()):
            continue
        text = str(template["text"])
        found = set(_SECRET.findall(text))
        secrets |= found
        if _MAY_BE_MISSING.search(text) is None:
            needed |= found
    users = (*content["steps"], *content["tools"].values())
    credentials = {name for one in users for name in _credentials(one.get("auth"))}
    return Asked(tuple(sorted(secrets)), tuple(sorted(credentials)), frozenset(needed))


def _credentials(auth: Any) -> list[str]:
    """Return the names in `auth`; one that a template gives is not known before it runs."""
    if isinstance(auth, str):
        return [auth]
    if not isinstance(auth, dict) or TEMPLATE_MARK in auth:
        return []
    if "type" in auth or "credential" in auth or "key" in auth:
        auth = {"": auth.get("credential") or (auth.get("key") if len(auth) <= 2 else None)}
    return [name for one in auth.values() for name in _credentials(one)]


__all__ = ["Asked", "asked_for"]
