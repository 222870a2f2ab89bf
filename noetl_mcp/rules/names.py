"""Rules of names: everything that is referred to must be there, once."""

from noetl_mcp.errors import Rule

UNKNOWN_TOOL = Rule(
    "NP201",
    "unknown-tool",
    "error",
    "turn '{turn}' allows tool '{name}', not in mcp.tools",
    "declare it under mcp.tools, or correct the name",
)
UNKNOWN_MODEL = Rule(
    "NP202",
    "unknown-model",
    "error",
    "turn '{turn}' asks model '{name}', not in mcp.models",
    "declare it under mcp.models, or correct the name",
)
UNKNOWN_RESOURCE = Rule(
    "NP203",
    "unknown-resource",
    "error",
    "turn '{turn}' uses resource '{name}', not in mcp.resources",
    "declare it under mcp.resources, or correct the name",
)
UNKNOWN_PROMPT = Rule(
    "NP204",
    "unknown-prompt",
    "error",
    "turn '{turn}' uses prompt '{name}', not in mcp.prompts",
    "declare it under mcp.prompts, or correct the name",
)
UNKNOWN_TURN = Rule(
    "NP205",
    "unknown-turn",
    "error",
    "{where} names turn '{name}', not in mcp.turns",
    "declare it under mcp.turns, or correct the name",
)
UNKNOWN_STEP = Rule(
    "NP206",
    "unknown-step",
    "error",
    "{where} names step '{name}', which does not exist",
    "add a step of that name, or correct it",
)
UNKNOWN_ACTION = Rule(
    "NP207",
    "unknown-action",
    "error",
    "{where} asks for action '{name}', not in the workbook",
    "declare it under workbook, or correct the name",
)
UNKNOWN_TASK_TYPE = Rule(
    "NP208",
    "unknown-task-type",
    "error",
    "{where} has the unknown type '{name}'",
    "use one of: {known}; or install the package that brings it",
)
TYPE_ELSEWHERE = Rule(
    "NP209",
    "type-without-plugin",
    "error",
    "{where} has the type '{name}', which exists in NoETL but has no plugin here",
    "{cure}",
)
DUPLICATE_NAME = Rule(
    "NP210",
    "duplicate-name",
    "error",
    "{what} '{name}' is defined twice; it stands in line {first} already",
    "give one of them another name",
)
NAME_TAKEN = Rule(
    "NP211", "name-taken", "error", "{what} cannot be called '{name}': {why}", "choose another name"
)
BAD_REFERENCE = Rule(
    "NP212",
    "bad-reference",
    "error",
    "'{text}' is not a reference that a turn can use",
    "write resource:NAME, prompt:NAME, step:NAME or turn:NAME",
)
UNKNOWN_STORAGE = Rule(
    "NP213",
    "unknown-storage",
    "error",
    "a save goes to the unknown storage '{name}'",
    "use one of: {known}",
)
UNKNOWN_NAME = Rule(
    "NP214",
    "unknown-name",
    "error",
    "the template uses '{name}', which nothing here is called",
    "{cure}",
)
UNDECLARED_VARIABLE = Rule(
    "NP215",
    "undeclared-variable",
    "error",
    "'{name}' is not in the workload",
    "declare '{leaf}' under workload, or provide for its absence with '| default(…)'",
)
UNDECLARED_INPUT = Rule(
    "NP216",
    "undeclared-input",
    "warning",
    "'{name}' is declared nowhere: the playbook has no workload",
    "declare '{leaf}' under workload, so that a start without it is refused",
)
UNKNOWN_INPUT = Rule(
    "NP217",
    "unknown-input",
    "error",
    "'{name}' is not in the input of {where}",
    "add it to 'data', or use one of: {known}",
)
UNKNOWN_CONSTANT = Rule(
    "NP218",
    "unknown-mcp-name",
    "error",
    "'{name}' is not declared under mcp.{section}",
    "declare it there, or correct the name",
)
UNUSED_ACTION = Rule(
    "NP219",
    "unused-action",
    "hint",
    "the workbook action '{name}' is never used",
    "remove it, or use it with 'type: workbook' and 'task: {name}'",
)
UNUSED_MCP = Rule(
    "NP220",
    "unused-mcp-name",
    "hint",
    "{what} '{name}' is never used",
    "remove it, or use it in a turn",
)
ACTION_CYCLE = Rule(
    "NP221",
    "action-cycle",
    "error",
    "the action '{name}' leads back to itself",
    "give one of them a task type other than workbook",
)
TURN_NOT_PLACED = Rule(
    "NP222",
    "turn-not-placed",
    "hint",
    "no step places the turn '{name}', so it does not run",
    "add a step with 'type: turn' and 'turn: {name}'",
)
TURN_PLACED_TWICE = Rule(
    "NP223",
    "turn-placed-twice",
    "error",
    "the turn '{name}' is placed by step '{first}' already",
    "write a second turn; each runs once",
)
WITH_WITHOUT_PROMPT = Rule(
    "NP224",
    "with-without-prompt",
    "error",
    "'with' stands beside '{use}', but only a prompt takes it",
    "remove 'with', or use a prompt",
)
UNKNOWN_RESULT_KEY = Rule(
    "NP225",
    "unknown-result-key",
    "warning",
    "{where} has no '{key}' in its result",
    "correct the name; a result of this kind has: {known}",
)
BROKEN_TASK_TYPE = Rule(
    "NP226",
    "broken-task-type",
    "error",
    "{where} has the type '{name}', which an installed package brings and which cannot be used",
    "correct the package, or remove it: {origin} {problem}",
)
