"""The page of the command line, from click itself."""

import click

from generator.markdown import code, page, table
from noetl_mcp.cli.main import COMMANDS, commands
from noetl_mcp.compiler.schema_plan import diagnostics_schema

_HEAD = """
Every command reads files and writes to standard output, or where `-o` says. None of them needs a
network or a database, and none of them runs a playbook: there is no runtime yet, so `run` ends in
what `explain` says.

Where a FILE is asked for, `-` stands for standard input. `-h` or `--help` behind any command tells
its options.
"""
_CODES = """
| code | meaning |
|---|---|
| 0 | done |
| 1 | what you asked about is wrong, or a file cannot be read or written |
| 2 | wrong usage: an unknown command, option or rule |
"""
_ENVIRONMENT = """
| variable | meaning |
|---|---|
| `NO_COLOR` | no colour, whatever the terminal is |
| `FORCE_COLOR` | colour, even when the output is no terminal |
| `TERM` | `dumb` means no colour |
| `COLUMNS` | how wide a text drawing may be |
"""


def cli_page() -> str:
    """Return the page of every command and option."""
    listed = [(f"[`{name}`](#{name})", words) for name, words in COMMANDS.items()]
    listed_table = table(("command", ""), listed)
    parts = [_HEAD, listed_table, "## Exit codes", _CODES, "## Environment", _ENVIRONMENT]
    context = click.Context(commands, info_name="noetl-mcp", **commands.context_settings)
    parts += [_options(commands, context, "## Options of the command itself")]
    for name in COMMANDS:
        command = commands.get_command(context, name)
        assert command is not None
        parts += _command(name, command, context)
    parts += ["## A finding as JSON", _FINDING, _finding()]
    return page("The command line", *parts)


_FINDING = """
`validate --json` prints a list of these, sorted by place; `noetl-mcp schema diagnostics` prints
their JSON Schema.
"""


def _finding() -> str:
    keys = diagnostics_schema()["items"]["properties"]
    return table(("key", ""), [(code(key), one["description"]) for key, one in keys.items()])


def _command(name: str, command: click.Command, above: click.Context) -> list[str]:
    context = click.Context(command, info_name=name, parent=above)
    usage = command.collect_usage_pieces(context)
    line = " ".join(("noetl-mcp", name, *usage))
    return [
        f"## {name}",
        f"```text\n{line}\n```",
        "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n")),
        _options(command, context, ""),
    ]


def _options(command: click.Command, context: click.Context, heading: str) -> str:
    rows = []
    for one in command.get_params(context):
        if not isinstance(one, click.Option) or "--help" in one.opts:
            continue
        names = ", ".join(code(name) for name in one.opts)
        if isinstance(one.type, click.Choice):
            names += ": " + ", ".join(code(str(choice)) for choice in one.type.choices)
        elif not one.is_flag and not one.is_eager:
            names += f" {one.make_metavar(context)}"
        rows.append((names, one.help or ""))
    made = table(("option", ""), rows)
    return f"{heading}\n\n{made}" if heading else made
