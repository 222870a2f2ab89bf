"""Rules of effects: what a playbook may change, and how much it must say about it."""

from noetl_mcp.errors import Rule

UNCONFIRMED_WRITE = Rule(
    "NP401",
    "unconfirmed-write",
    "warning",
    "{where} writes and does not say 'confirm: true'",
    "add 'confirm: true' when the change is meant, or 'writes: false' when there is none",
)
BOUND_BROKEN = Rule(
    "NP402",
    "bound-broken",
    "error",
    "{where} {counter} {count}, allowed were {allowed}",
    "look at what it did, correct the step, and go on from there",
)
REFUSED_WRITE = Rule(
    "NP403",
    "refused-write",
    "error",
    "{where} writes and does not say 'confirm: true', so it is refused",
    "add 'confirm: true' when the change is meant",
)
UNBOUNDED_WRITE = Rule(
    "NP404",
    "unbounded-write",
    "hint",
    "{where} writes without a bound on how much",
    "add 'expect' with a bound, such as {{maxUpdated: 10}}",
)
BOUNDS_WITHOUT_WRITE = Rule(
    "NP405",
    "bounds-without-write",
    "warning",
    "{where} has bounds on what it changes, but it changes nothing",
    "remove 'expect', or say 'writes: true'",
)
IMPOSSIBLE_BOUNDS = Rule(
    "NP406",
    "impossible-bounds",
    "error",
    "no count can keep both min{counter} {least} and max{counter} {most}",
    "exchange the two",
)
SQL_WRITES = Rule(
    "NP407",
    "sql-writes-unsaid",
    "warning",
    "the SQL of {where} writes, but the step does not say 'writes: true'",
    "add 'writes: true'; without it the statement runs read-only and is refused",
)
CHECK_WRITES = Rule(
    "NP408", "check-writes", "error", "the 'check' of {where} writes", "let the check only read"
)
WRITES_FIXED = Rule(
    "NP409",
    "writes-not-yours-to-say",
    "error",
    "'writes: false' cannot stand on {where}: whether '{type}' writes is known",
    "remove it",
)
TOOL_WRITES = Rule(
    "NP410",
    "tool-writes",
    "warning",
    "tool '{name}' writes; a model that calls it gets an error",
    "add 'confirm: true' to the tool when models may make the change",
)
RESOURCE_WRITES = Rule(
    "NP411",
    "resource-writes",
    "error",
    "resource '{name}' writes; resources are only read",
    "make it a step, or a tool",
)
RETRIED_WRITE = Rule(
    "NP412",
    "retried-write",
    "hint",
    "{where} writes and is retried: only after a definite refusal, unless it is idempotent",
    "add 'idempotent: true' when the target takes an idempotency key",
)
LIMIT_WITHOUT_NUMBER = Rule(
    "NP413",
    "limit-without-number",
    "warning",
    "the limit '{name}' has no number anywhere, so one passes at a time",
    "add 'limits: {{{name}: 1}}' at the top of the playbook, or 'max' beside the name",
)
UNUSED_LIMIT = Rule(
    "NP414",
    "unused-limit",
    "warning",
    "no step keeps the limit '{name}'",
    "add 'limits: {name}' to the steps that must not crowd it, or remove it",
)
UNKNOWN_METHOD = Rule(
    "NP415",
    "unknown-method",
    "warning",
    "'{name}' is not a known method of {type}, so it counts as a write",
    "correct the name; the docs list the methods that are known",
)
BODY_NOT_SENT = Rule(
    "NP416",
    "body-not-sent",
    "warning",
    "{method} sends no body, so '{key}' is lost",
    "add 'method: POST', or move the values to 'params'",
)
CACHE_NOT_USED = Rule(
    "NP417",
    "cache-not-used",
    "warning",
    "the 'cache' of {where} is not used: {why}",
    "remove 'cache'; it is for steps whose task only reads or computes",
)
EQUALS_NO_POINTER = Rule(
    "NP418",
    "equals-no-pointer",
    "error",
    "'{name}' in 'equals' is no JSON pointer: {why}",
    "put '/' before each name, as in {{/totalCount: 8}}",
)
