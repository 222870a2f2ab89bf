"""Rules of the dialects: what older and newer forms say, and what becomes of it."""

from noetl_mcp.errors import Rule

OLD_HEADER = Rule(
    "NP601",
    "old-header",
    "hint",
    "'{key}' at the top belongs in 'metadata'",
    "write metadata: {{path: …, name: …}}",
)
OLD_KEY = Rule(
    "NP602",
    "old-key",
    "hint",
    "'{old}' is read as '{new}'",
    "write '{new}'; 'noetl-mcp migrate' does it for you",
)
SEVERAL_INPUTS = Rule(
    "NP603",
    "several-inputs",
    "warning",
    "'{loser}' is not used because '{winner}' stands beside it",
    "keep '{winner}' only",
)
DROPPED_KEY = Rule(
    "NP604",
    "key-without-meaning",
    "hint",
    "'{key}' means nothing here and is left out",
    "remove it",
)
NOT_SUPPORTED = Rule(
    "NP605", "construct-not-supported", "error", "{construct} cannot be expressed here", "{cure}"
)
CASE = Rule(
    "NP606",
    "case-not-supported",
    "error",
    "this 'case' entry cannot be read: {problem}",
    "write the ways on as 'next' with 'when', failures as 'on_error'",
)
KEYCHAIN = Rule(
    "NP607",
    "keychain-not-read",
    "warning",
    "'keychain' is not read",
    "name a stored credential in 'auth', or use secrets.NAME",
)
VARS = Rule(
    "NP608",
    "vars-not-read",
    "error",
    "'vars' is not read",
    "declare variables under 'workload', set others with 'set'",
)
POLICY = Rule(
    "NP610",
    "policy-not-supported",
    "error",
    "this policy rule cannot be expressed: {problem}",
    "{cure}",
)
EVENT_CONDITION = Rule(
    "NP611",
    "event-condition",
    "error",
    "{text} mixes an event with other conditions in a way that cannot be read",
    "write failures as 'on_error', and the rest as 'when'",
)
LIST_AS_MAP = Rule(
    "NP612",
    "list-expected",
    "error",
    "{what} must be a list, each item with its own '{key}'",
    "write '- {key}: …' for each",
)
UNKNOWN_EVENT = Rule(
    "NP613",
    "unknown-event",
    "error",
    "there is no event '{name}' that a way could wait for",
    "write step.done or step.failed, or use 'on_error'",
)
