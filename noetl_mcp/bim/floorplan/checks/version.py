"""Checks of the declared version of the language."""

import re
from collections.abc import Iterator

from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.rules import ERROR, WARNING, of_language
from noetl_mcp.bim.floorplan.words import VERSION

_FORM = re.compile(r"[0-9]+(\.[0-9]+){0,2}")
_MAJOR, _CURRENT = 1, (1, 0, 0)

NONE = of_language(
    "no-version",
    WARNING,
    "No grammar version declared. Assuming version 1.0.0. Add '%%{{version: 1.0.0}}%%' or YAML "
    "frontmatter with 'version: \"1.0.0\"' to suppress this warning.",
    "the plan declares no version",
)
INVALID = of_language(
    "invalid-version",
    ERROR,
    "Invalid version format: {version}. Invalid version format: {version}. Expected format: X.Y "
    "or X.Y.Z",
    "the declared version is not two or three numbers",
)
UNSUPPORTED = of_language(
    "unsupported-version",
    ERROR,
    "Unsupported grammar version: {version}. This parser supports up to version 1.0.0. Please "
    "upgrade your parser or use an older grammar version.",
    f"the declared version is newer than {VERSION}",
)
LEGACY = of_language(
    "legacy-version",
    WARNING,
    "Using legacy grammar version {version}. Current version is 1.0.0. Consider running "
    "'floorplan migrate <file> --to 1.0.0' to upgrade.",
    "the declared version is of an older generation (0.x)",
)
RULES = (NONE, INVALID, UNSUPPORTED, LEGACY)


def version(subject: Subject) -> Iterator[Finding]:
    """Look at the declared version."""
    declared = subject.plan.version
    if declared is None:
        yield NONE.found(0, 0)
        return
    place = (declared.start, declared.end)
    if not _FORM.fullmatch(declared.text):
        yield INVALID.found(*place, version=declared.text)
        return
    parts = [int(part[:9]) for part in declared.text.split(".")]
    numbers = tuple(parts + [0] * (3 - len(parts)))
    if numbers > _CURRENT:
        yield UNSUPPORTED.found(*place, version=declared.text)
    elif numbers[0] < _MAJOR:
        yield LEGACY.found(*place, version=declared.text)
