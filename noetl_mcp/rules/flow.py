"""Rules of flow: the graph a workflow makes."""

from noetl_mcp.errors import Rule

CYCLE = Rule(
    "NP301",
    "cycle",
    "error",
    "the steps lead in a circle: {path}",
    "use 'repeat: {{until: …, max: …}}' on a step for a bounded loop",
)
UNREACHABLE = Rule(
    "NP302",
    "unreachable-step",
    "warning",
    "no way leads to step '{name}', so it never runs",
    "name it in the 'next' of another step, or remove it",
)
USED_TOO_EARLY = Rule(
    "NP303",
    "used-too-early",
    "error",
    "'{name}' is used by {where}, which must be done before '{name}' begins",
    "use it in a later step",
)
USES_ITSELF = Rule(
    "NP304",
    "uses-itself",
    "error",
    "{where} uses its own result before it has one",
    "use 'input' for what comes in; the own result is there in 'save', 'set' and 'next'",
)
NEVER_RUNS = Rule(
    "NP305",
    "uses-what-never-runs",
    "error",
    "{where} uses '{name}', to which no way leads",
    "lead a way to '{name}', or do not use it",
)
MAYBE_SKIPPED = Rule(
    "NP306",
    "maybe-skipped",
    "warning",
    "'{name}' may have been skipped when {where} runs",
    "write '{name} is defined' or '| default(…)', or use it on its own branch only",
)
IMPOSSIBLE_JOIN = Rule(
    "NP307",
    "impossible-join",
    "error",
    "{where} needs both '{first}' and '{second}', but at most one of them ever runs",
    "provide for the missing one with '| default(…)', or use two steps",
)
JOIN_OF_ONE = Rule(
    "NP308",
    "join-of-one",
    "hint",
    "'join: any' on step '{name}' has only one way to wait for",
    "remove 'join'",
)
END_GOES_ON = Rule(
    "NP309",
    "end-goes-on",
    "warning",
    "step 'end' leads on to '{name}'",
    "give the last step another name, or remove its 'next'",
)
NEVER_TRUE = Rule(
    "NP310",
    "never-taken",
    "warning",
    "this way to '{name}' is never taken: {why}",
    "correct the condition, or remove the way",
)
ALWAYS_TRUE = Rule(
    "NP311",
    "else-never-taken",
    "warning",
    "the ways without 'when' are never taken: {why}",
    "remove the condition, or the ways without one",
)
DOUBLE_EDGE = Rule(
    "NP312",
    "double-edge",
    "warning",
    "this step leads to '{name}' twice under the same condition",
    "remove one of the two",
)
RESULT_NOT_LAST = Rule(
    "NP314",
    "result-not-last",
    "warning",
    "'result' of step '{name}' is not what the playbook returns, for the step is not the last",
    "put 'result' on the step 'end'",
)
EMPTY_SEQUENCE = Rule(
    "NP315",
    "empty-sequence",
    "error",
    "{where} has nothing to do in it",
    "add 'tasks:' with an action each",
)
EMPTY_ITERATOR = Rule(
    "NP316",
    "iterator-without-task",
    "error",
    "{where} says nothing to do with its items",
    "add 'task:' with an action, or the name of one of the workbook",
)
NO_START = Rule(
    "NP317",
    "no-start",
    "hint",
    "no step is called 'start'; the first step, '{step}', begins",
    "add '- step: start' with 'next: [{step}]'",
)
