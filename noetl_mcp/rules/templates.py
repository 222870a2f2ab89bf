"""Rules of templates and of what is inside a setting."""

from noetl_mcp.errors import Rule

TEMPLATE_SYNTAX = Rule(
    "NP501",
    "template-syntax",
    "error",
    "the template does not parse: {problem}",
    "{cure}",
)
TEMPLATE_IN_CODE = Rule(
    "NP502",
    "template-in-code",
    "warning",
    "'{key}' is never rendered, so this '{{{{ … }}}}' reaches the program as it stands",
    "pass the value in 'data' and use it as an argument",
)
PYTHON_SYNTAX = Rule(
    "NP503", "python-syntax", "error", "the Python does not parse: {problem}", "correct the code"
)
NO_MAIN = Rule(
    "NP504",
    "no-main",
    "error",
    "the code has neither a function 'main' nor a 'result'",
    "write 'def main(…): …' and return the result",
)
MISSING_ARGUMENT = Rule(
    "NP505",
    "missing-argument",
    "warning",
    "'main' wants '{name}', which is not in the step's data",
    "add '{name}: …' to 'data', or give the parameter a default",
)
WRONG_DEFAULT = Rule(
    "NP506",
    "wrong-default",
    "error",
    "the default of '{name}' does not fit its declaration: {problem}",
    "correct the default or the declaration",
)
BAD_DECLARATION = Rule(
    "NP507",
    "bad-declaration",
    "error",
    "the declaration of '{name}' is wrong: {problem}",
    "correct the declaration",
)
BAD_SCHEMA = Rule(
    "NP508", "bad-schema", "error", "{where} is no JSON Schema: {problem}", "correct the schema"
)
SECRET_SPELT_OUT = Rule(
    "NP510",
    "secret-spelt-out",
    "warning",
    "'{key}' holds what looks like a secret in plain text",
    "store it and write '{{{{ secrets.NAME }}}}'",
)
ALMOST_DECLARED = Rule(
    "NP511",
    "almost-declared",
    "warning",
    "'{name}' looks like a declaration but is read as a plain default: {problem}",
    "correct it; a declaration has a JSON type and no other keys than: {known}",
)
ALWAYS_DEFAULT = Rule(
    "NP512",
    "always-default",
    "warning",
    "nothing here is called '{name}', so what is provided for its absence always wins",
    "correct the name",
)
HALF_TEMPLATE = Rule(
    "NP513",
    "half-template",
    "warning",
    "'{text}' is plain text: a brace of the template is missing",
    "write {{{{ … }}}} with two braces on both sides",
)
