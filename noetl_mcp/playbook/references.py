"""The little grammar of names inside a turn: `resource:kb`, `prompt:p`, `step:s`, `turn:t`."""

from typing import Literal, NamedTuple, get_args

Referred = Literal["resource", "prompt", "step", "turn"]
KINDS: tuple[Referred, ...] = get_args(Referred)


class Reference(NamedTuple):
    """What a turn uses: of which kind, and under which name."""

    kind: Referred
    name: str


def read_reference(text: str) -> Reference | None:
    """Read `kind:name`; None when it is not one."""
    kind, colon, name = text.partition(":")
    kind, name = kind.strip(), name.strip()
    for known in KINDS:
        if colon and name and kind == known:
            return Reference(known, name)
    return None


FIXED_NAMES = frozenset(
    [
        "workload",
        "input",
        "data",
        "context",
        "secrets",
        "env",
        "mcp",
        "prompts",
        "job",
        "execution_id",
        "this",
        "result",
    ]
)
"""Names that templates find everywhere; no step, resource or turn may take them."""

OTHER_NAMES = frozenset(
    ["ctx", "output", "event", "now", "error", "attempt", "status_code", "success"]
)
"""Names that templates find in some places; a step of that name hides them."""
