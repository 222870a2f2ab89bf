"""The page of the command line, from click itself."""

import click

from generator.markdown import code, page, table
from noetl_mcp.cli.main import COMMANDS, commands
from noetl_mcp.compiler.schema_plan import diagnostics_schema

_HEAD = """
The commands about the language (`validate`, `compile`, `explain`, `graph`, `migrate`, `schema`,
`rules`), those about floor plans (`floorplan`, `mcp floorplan`) and `revit serve` read files and
need no database. All others need one, and start an embedded Postgres when
[`NOETL_DSN`](settings.md#noetl_dsn) names none; see
[Run the database](../how-to/run-the-database.md).

What a command was asked for goes to standard output, or where `-o` says; progress and problems go
to standard error. Where a FILE is asked for, `-` stands for standard input. `-h` or `--help` behind
any command tells its options.
"""
_CODES = """
| code | meaning |
|---|---|
| 0 | done |
| 1 | what you asked about is wrong, failed or was refused, or a file cannot be read or written |
| 2 | wrong usage: an unknown command, option or rule, or a setting that cannot be meant |
| 3 | the database or a server is not reachable |
| 130 | a person stopped it |
"""
_ENVIRONMENT = """
What the program as a whole can be told stands in [Settings](settings.md). Besides these:

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
        parts += _command((name,), command, context)
    parts += ["## A finding as JSON", _FINDING, _finding()]
    return page("The command line", *parts)


_FINDING = """
`validate --json` prints a list of these, sorted by place; `noetl-mcp schema diagnostics` prints
their JSON Schema.
"""


def _finding() -> str:
    keys = diagnostics_schema()["items"]["properties"]
    return table(("key", ""), [(code(key), one["description"]) for key, one in keys.items()])


def _command(words: tuple[str, ...], command: click.Command, above: click.Context) -> list[str]:
    """Tell of a command; of a group also of all that is in it."""
    context = click.Context(command, info_name=words[-1], parent=above)
    called, pieces = " ".join(words), " ".join(command.collect_usage_pieces(context))
    parts = [
        f"{'#' * (len(words) + 1)} {called}",
        f"```text\nnoetl-mcp {called} {pieces}\n```",
        "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n")),
        _options(command, context, ""),
    ]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            parts += _command((*words, name), inner, context)
    return parts


def _options(command: click.Command, context: click.Context, heading: str) -> str:
    rows = []
    for one in command.get_params(context):
        if not isinstance(one, click.Option) or "--help" in one.opts:
            continue
        names = ", ".join(code(name) for name in one.opts)
        if isinstance(one.type, click.Choice):
            names += ": " + ", ".join(code(str(choice)) for choice in one.type.choices)
        elif not one.is_flag and not one.is_eager:
            names += f" {_kind(one, context)}"
        rows.append((names, one.help or ""))
    made = table(("option", ""), rows) if rows else ""
    return f"{heading}\n\n{made}" if heading else made


def _kind(one: click.Option, context: click.Context) -> str:
    """Return what an option wants: its own word, or its type with its bounds."""
    if one.metavar or not isinstance(one.type, click.IntRange | click.FloatRange):
        return one.make_metavar(context)
    least, most = one.type.min, one.type.max
    bounds = (f" from {least}" if least is not None else "") + (f" to {most}" if most else "")
    return f"number{bounds}"
