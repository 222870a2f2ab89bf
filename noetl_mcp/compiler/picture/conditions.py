"""Say a condition of an edge in one line. It refuses to understand it."""

from noetl_mcp.lettering.fitted import printable


def condition(text: str) -> str:
    """Show a condition as it is meant: on one line, without the braces around the whole."""
    line = printable(text)
    inner = line[2:-2].strip() if line.startswith("{{") and line.endswith("}}") else line
    return line if "{{" in inner or "}}" in inner else inner
