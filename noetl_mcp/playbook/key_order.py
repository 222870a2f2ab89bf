"""The order in which keys are written. A key that is missing here comes after all others."""

# fmt: off
BOOK = (
    "apiVersion", "kind", "metadata", "description", "workload", "mcp", "workbook", "workflow",
    "finally", "limits", "timeout", "require_confirm", "durability",
)
METADATA = ("path", "name", "version", "description", "tags", "expose")
STEP_HEAD = (
    "step", "name", "description", "when", "type", "turn",
    "collection", "element", "mode", "concurrency", "where", "order_by", "limit", "chunk",
    "enumerate", "tolerate",
    "task", "tasks",
)
STEP_REST = (
    "data", "auth", "assert", "expect", "confirm", "writes", "idempotent", "check", "set", "save",
    "retry", "repeat", "timeout", "cache", "limits", "pool", "priority", "join", "result",
    "on_error", "next", "route",
)
EDGE = ("step", "when", "data", "set")
SAVE_HEAD = ("name", "storage", "when", "on", "mode", "key")
SAVE_REST = ("data", "auth", "on_failure")
MCP = {
    "models": (
        "name", "description", "provider", "model", "adapter", "endpoint", "auth", "params",
        "timeout",
    ),
    "tools": (
        "name", "description", "type", "input_schema", "spec", "data", "auth", "confirm",
        "writes", "idempotent", "timeout",
    ),
    "resources": (
        "name", "description", "type", "spec", "data", "auth", "max_chars", "refresh", "timeout",
    ),
    "prompts": ("name", "description", "template"),
    "turns": (
        "name", "description", "model", "system", "user", "tools_allowed", "max_tool_rounds",
        "output_schema", "params", "needs", "stream", "timeout", "cache", "save",
    ),
}
# fmt: on
