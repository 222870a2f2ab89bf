"""The colours of a drawn workflow, light and dark. It refuses to draw.

Light colours stand in the attributes of each shape, so that every renderer shows them; the dark
ones are a style sheet that a browser applies when its reader prefers the dark.
"""

from collections.abc import Mapping

Family = str

_FAMILIES: Mapping[Family, frozenset[str]] = {
    "call": frozenset({"http", "mcp", "tool", "tools", "revit", "rhino", "ifc"}),
    "code": frozenset({"python", "shell", "script", "secrets"}),
    "flow": frozenset(
        {"", "router", "iterator", "start", "end", "playbook", "workbook", "wait", "repeat"}
    ),
    "think": frozenset({"turn", "model", "llm", "prompt", "resource"}),
    "keep": frozenset({"save", "postgres", "duckdb", "sqlite", "sql", "file", "event_log"}),
}

ACCENT: Mapping[Family, str] = {
    "call": "#2563eb",
    "code": "#7c3aed",
    "flow": "#64748b",
    "think": "#0d9488",
    "keep": "#15803d",
    "other": "#a16207",
}
PAPER = "#ffffff"
INK = "#0f172a"
SOFT_INK = "#475569"
CARD = "#ffffff"
CARD_EDGE = "#94a3b8"
HIDDEN_CARD = "#f8fafc"
FRAME = "#f1f5f9"
FRAME_EDGE = "#cbd5e1"
WRITES = "#c2410c"
LINES: Mapping[str, str] = {"next": "#475569", "error": "#dc2626", "need": "#8592a6"}

DARK = """
@media (prefers-color-scheme: dark) {
.ng-paper{fill:#0b1220}.ng-card{fill:#172033;stroke:#5b6b84}.ng-hidden{fill:#111a2b}
.ng-frame{fill:#111a2b;stroke:#33425a}.ng-ink{fill:#f1f5f9}.ng-soft{fill:#b6c2d4}
.ng-writes-card{stroke:#fb923c}.ng-pill{fill:#fb923c}.ng-pill-ink{fill:#1c0f05}
.ng-call{fill:#60a5fa}.ng-code{fill:#a78bfa}.ng-flow{fill:#94a3b8}.ng-think{fill:#2dd4bf}
.ng-keep{fill:#4ade80}.ng-other{fill:#facc15}
.ng-next{stroke:#a3b1c6}.ng-error{stroke:#f87171}.ng-need{stroke:#7487a3}
.ng-next-tip{fill:#a3b1c6}.ng-error-tip{fill:#f87171}.ng-need-tip{fill:#7487a3}
}
"""


def family(kind: str) -> Family:
    """Say to which family of task types a type belongs."""
    stem = kind.split(".")[0]
    return next((name for name, kinds in _FAMILIES.items() if stem in kinds), "other")
