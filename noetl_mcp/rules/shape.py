"""Rules of shape: which keys a playbook has and what may stand behind them."""

from noetl_mcp.errors import Rule

UNKNOWN_KEY = Rule(
    "NP120", "unknown-key", "error", "{where} has no key '{key}'", "use one of: {known}"
)
MISSING_KEY = Rule("NP121", "missing-key", "error", "{where} needs a '{key}'", "add '{key}: …'")
WRONG_VALUE = Rule(
    "NP122",
    "wrong-value",
    "error",
    "'{key}' should be {wanted}, not {found}",
    "correct the value; 'noetl-mcp schema' prints what may stand here",
)
WRONG_KIND = Rule(
    "NP123", "wrong-kind", "error", "{what} should be {wanted}, not {found}", "{cure}"
)
NOT_A_PLAYBOOK_KIND = Rule(
    "NP124",
    "other-kind",
    "error",
    "the kind is '{kind}', not Playbook",
    "write 'kind: Playbook'; files of other kinds are not compiled",
)
UNKNOWN_API_VERSION = Rule(
    "NP125",
    "unknown-api-version",
    "error",
    "the apiVersion '{version}' is not known",
    "write noetl.io/v1, noetl.io/v2 or noetl.io/v10, or leave it out",
)
NO_STEPS = Rule(
    "NP126",
    "nothing-to-do",
    "error",
    "the playbook has no steps and no turns",
    "add a 'workflow:' with steps, or 'mcp:' with turns",
)
KEYS_TOGETHER = Rule(
    "NP127",
    "keys-together",
    "error",
    "'{first}' and '{second}' cannot both stand in {where}",
    "keep one of them",
)
MISSING_ONE_OF = Rule(
    "NP128", "missing-one-of", "error", "{where} needs one of: {keys}", "add one of these keys"
)
CONDITION_IS_TEXT = Rule(
    "NP129",
    "condition-is-text",
    "error",
    "the condition '{text}' is plain text and would never be evaluated",
    'write "{{{{ {text} }}}}"',
)
SETTINGS_WITHOUT_TYPE = Rule(
    "NP130",
    "settings-without-type",
    "error",
    "{where} has '{key}' but no type",
    "add 'type: {guess}', or remove the key",
)
MISPLACED_ELSE = Rule(
    "NP131",
    "misplaced-else",
    "error",
    "this 'else' is empty and its 'then' stands beside it, so it does nothing",
    "indent 'then' below 'else', or write the steps below 'else'",
)
SETTINGS_CLASH = Rule(
    "NP133",
    "settings-clash",
    "error",
    "the settings of {where} do not go together: {problem}",
    "remove what is not meant",
)
EMPTY_VALUE = Rule(
    "NP134",
    "empty-value",
    "warning",
    "there is nothing behind '{key}'",
    "give it a value, or remove the key",
)
HALF_CONDITION = Rule(
    "NP135",
    "condition-gives-text",
    "error",
    "the condition '{text}' gives a text, which is never false",
    'put the whole of it into one pair of braces: "{{{{ … }}}}"',
)
