"""Pass: what stands inside settings is right: Python parses, schemas are schemas, secrets are kept.

Before and after: the same draft. Runs no code; Python is only parsed.
"""

import ast
import base64
import binascii
import re
import warnings
from functools import lru_cache

from noetl_mcp.compiler.draft import Draft, Node, Placed
from noetl_mcp.compiler.scope import input_keys, names_of
from noetl_mcp.compiler.settings import shown_value
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import templates

_PROGRAMS = frozenset(("python", "save.python"))
_WHOLE = frozenset(("input_data", "data", "input", "payload", "context", "args"))
_SECRET_KEY = re.compile(r"password|passwd|secret|api_?key|token|authorization", re.IGNORECASE)
_HARMLESS = frozenset(("secret_name", "max_tokens", "tokens", "page_token", "next_token"))
_KNOWN_NAME = re.compile(
    r"\{\{\s*(?:workload|input|context|secrets|env|ctx|execution_id|job)\b[^{}]*\}\}"
)
_IN_DSN = re.compile(r"://[^:/@{\s]+:[^@{\s]+@")
_MOST_CODE = 1024 * 1024
_KEYWORDS = frozenset(
    (
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "description",
        "title",
        "default",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "additionalProperties",
        "anyOf",
        "oneOf",
        "allOf",
    )
)
_JSON_TYPES = frozenset(["string", "number", "integer", "boolean", "array", "object", "null"])


def check_contents(draft: Draft, report: Report) -> Draft:
    """Look inside the settings of every node."""
    names = names_of(draft)
    for node in (*draft.nodes.values(), *draft.tools.values()):
        if node.type in _PROGRAMS and "code" in node.settings:
            known = input_keys(node, names, "in")
            function = node.settings.get("function")
            name = str(function.value) if function is not None else "main"
            _program(node, node.settings["code"], name, known, report)
        if node.type == "python" and "code_b64" in node.settings:
            _encoded(node, node.settings["code_b64"], report)
        inputs = node.data if isinstance(node.data, dict) else {}
        for key, placed in (*node.settings.items(), *inputs.items()):
            _spelt_out(key, placed, report)
        for key in ("input_schema", "output_schema"):
            schema = node.care.get(key) or node.settings.get(key)
            if schema is not None:
                _schema(schema, node, key, report)
    return draft


def _program(
    node: Node, code: Placed, name: str, known: frozenset[str] | None, report: Report
) -> None:
    text = code.value
    if not isinstance(text, str):
        return
    if "{{" in text and _KNOWN_NAME.search(text):
        report.say(templates.TEMPLATE_IN_CODE, code.at, at_key=True, key=code.at[-1])
    program = read_program(text, name)
    if program.problem is not None:
        place = report.source.line_in(code.at, program.line)
        report.say(templates.PYTHON_SYNTAX, place, problem=program.problem)
        return
    if not program.has_main and not program.has_result:
        report.say(templates.NO_MAIN, code.at, at_key=True)
    if known is None or node.type == "save.python":
        return
    if len(program.wants) == 1 and program.wants[0] in _WHOLE and not program.takes_any:
        return
    for name in program.wants:
        if name not in known:
            near = report.near(name, known)
            report.say(templates.MISSING_ARGUMENT, code.at, at_key=True, suggestion=near, name=name)


def _encoded(node: Node, code: Placed, report: Report) -> None:
    try:
        text = base64.b64decode("".join(str(code.value).split())).decode()
    except (binascii.Error, ValueError):
        return
    problem = read_program(text).problem
    if problem is not None:
        report.say(templates.PYTHON_SYNTAX, code.at, problem=problem)


class Program:
    """What can be said of Python code without running it."""

    __slots__ = ("has_main", "has_result", "line", "problem", "takes_any", "wants")

    def __init__(self) -> None:
        self.problem: str | None = None
        self.line = 1
        self.has_main = False
        self.has_result = False
        self.takes_any = False
        self.wants: tuple[str, ...] = ()


@lru_cache(maxsize=5_000)
def read_program(text: str, name: str = "main") -> Program:
    """Parse code and find its `main` and what that wants."""
    program = Program()
    if len(text) > _MOST_CODE:
        program.problem = f"it has more than {_MOST_CODE:,} characters"
        return program
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        program.problem, program.line = error.msg, error.lineno or 1
        return program
    except (ValueError, RecursionError, MemoryError) as error:
        program.problem = str(error) or "it is nested too deeply"
        return program
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            program.has_main = True
            _signature(node.args, program)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            program.has_main |= any((a.asname or a.name) == name for a in node.names)
    if not program.has_main:
        program.has_result = any(
            isinstance(node, ast.Name)
            and node.id in ("result", name)
            and isinstance(node.ctx, ast.Store)
            for node in ast.walk(tree)
        )
    return program


def _signature(args: ast.arguments, program: Program) -> None:
    positional = [*args.posonlyargs, *args.args]
    needed = positional[: len(positional) - len(args.defaults)]
    keyword = [
        one for one, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if not default
    ]
    program.wants = tuple(one.arg for one in (*needed, *keyword))
    program.takes_any = args.kwarg is not None


def _spelt_out(key: str, placed: Placed, report: Report) -> None:
    """A password or token written as plain text ends up in the catalog and the version control."""
    entries = placed.value if isinstance(placed.value, dict) else {key: placed.value}
    for name, value in entries.items():
        plain = isinstance(value, str) and len(value) > 5 and not is_template(value)
        is_named = name not in _HARMLESS and _SECRET_KEY.search(name)
        if plain and (is_named or _IN_DSN.search(value)):
            at = placed.down(name) if isinstance(placed.value, dict) else placed.at
            report.say(templates.SECRET_SPELT_OUT, at, key=name)


def _schema(placed: Placed, node: Node, key: str, report: Report) -> None:
    stack: list[tuple[object, Path]] = [(placed.value, placed.at)]
    where = f"'{key}' of '{node.name}'"
    while stack:
        schema, at = stack.pop()
        if isinstance(schema, bool):
            continue
        if not isinstance(schema, dict):
            report.say(templates.BAD_SCHEMA, at, where=where, problem="a map is expected here")
            continue
        kinds = schema.get("type")
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind is not None and not (isinstance(kind, str) and kind in _JSON_TYPES):
                near = report.near(kind, _JSON_TYPES) if isinstance(kind, str) else None
                problem = f"{shown_value(kind)} is no JSON type"
                place = (*at, "type")
                report.say(
                    templates.BAD_SCHEMA, place, suggestion=near, where=where, problem=problem
                )
        _misspelt(schema, at, where, report)
        properties = schema.get("properties", {})
        if not isinstance(properties, dict):
            problem = "'properties' must be a map"
            report.say(templates.BAD_SCHEMA, (*at, "properties"), where=where, problem=problem)
            continue
        _required(schema, at, where, report)
        stack += [(child, (*at, "properties", name)) for name, child in properties.items()]
        if "items" in schema:
            stack.append((schema["items"], (*at, "items")))


def _misspelt(schema: dict[str, object], at: Path, where: str, report: Report) -> None:
    """A keyword that a schema does not know is ignored by everybody, so a near miss is told."""
    for key in schema:
        near = report.near(key, _KEYWORDS) if key not in _KEYWORDS else None
        if near is not None:
            problem = f"there is no keyword '{key}'"
            place = (*at, key)
            report.say(
                templates.BAD_SCHEMA,
                place,
                at_key=True,
                suggestion=near,
                where=where,
                problem=problem,
            )


def _required(schema: dict[str, object], at: Path, where: str, report: Report) -> None:
    required = schema.get("required", [])
    if not isinstance(required, list):
        problem = "'required' must be a list of names"
        report.say(templates.BAD_SCHEMA, (*at, "required"), where=where, problem=problem)
        return
    properties = schema.get("properties")
    for index, name in enumerate(required):
        if isinstance(properties, dict) and isinstance(name, str) and name not in properties:
            report.say(
                templates.BAD_SCHEMA,
                (*at, "required", index),
                suggestion=report.near(name, properties),
                where=where,
                problem=f"'{name}' is required and not among the properties",
            )
