"""Task types that compute here: python, shell, noop and set. Describes them; runs nothing."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field

from noetl_mcp.playbook.values import Code, Flag, Mapping, OrTemplate, Reads, Text
from noetl_mcp.tasks.contract import TaskSpec, writes
from noetl_mcp.tasks.pieces import in_pieces
from noetl_mcp.tasks.setting_types import Base64, Many, Natural, Positive, Texts, Words
from noetl_mcp.tasks.settings_model import Group, SettingsModel
from noetl_mcp.tasks.shell_line import line_problem

PROGRAMS = frozenset(("code", "script", "code_b64"))
ExitCodes = Annotated[list[Annotated[int, Field(ge=0, le=255)]], OrTemplate()]
CommandLine = Annotated[
    str | dict[str, Any], Reads(in_pieces("a command line", line_problem), {"type": "string"})
]


class PythonSettings(SettingsModel):
    """A program whose `main` is called by its signature, in a process of its own."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (PROGRAMS,)

    code: Code | None = Field(
        None, description="The program's text; it is never rendered, values come by the input."
    )
    script: Text | None = Field(
        None, description="The program's file, beside the playbook or in an allowed folder."
    )
    code_b64: Base64 | None = Field(None, description="The program's text in base64.")
    function: Text = Field("main", description="The function to call.")
    libs: Words = Field(
        default_factory=dict,
        description="Modules the program finds imported, by name: {np: numpy}.",
    )
    packages: Texts = Field(
        default_factory=list,
        description="Distributions that must be there; nothing is installed.",
    )
    env: Words = Field(default_factory=dict, description="What the program's environment holds.")
    isolate: Flag = Field(False, description="Use a fresh process for every call.")
    memory_mb: Positive | None = Field(
        None, description="The most memory, in megabytes; beyond it the program is ended."
    )
    max_output_bytes: Positive = Field(
        1_048_576, description="What it prints beyond this is dropped from the log, visibly."
    )


class ShellSettings(SettingsModel):
    """A command of the worker's machine; workers refuse it unless NOETL_ALLOW_SHELL is set."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (
        frozenset(("command", "commands")),
        frozenset(("commands", "args")),
    )

    command: CommandLine | None = Field(
        None,
        validation_alias=AliasChoices("command", "cmd"),
        description="The command line, in which a value in {{ }} is passed as a variable and never "
        "read as code; with `args` the program alone, and no shell reads it.",
    )
    commands: Annotated[list[CommandLine], Many()] | None = Field(
        None,
        validation_alias=AliasChoices("commands", "cmds"),
        description="Command lines, one after another until one fails.",
    )
    args: Texts | None = Field(
        None, description="Arguments, each handed over as it is; no shell reads them."
    )
    cwd: Text | None = Field(
        None,
        validation_alias=AliasChoices("cwd", "working_dir"),
        description="The folder it runs in, below the allowed ones; one of its own when missing.",
    )
    env: Words = Field(
        default_factory=dict,
        description="What its environment holds beside PATH, HOME, TMPDIR and LANG.",
    )
    stdin: Text | None = Field(
        None, description="What it reads on its standard input; nothing when missing."
    )
    shell: Text = Field("/bin/sh", description="The shell that reads command lines.")
    ok_codes: ExitCodes = Field(
        [0],
        validation_alias=AliasChoices("ok_codes", "ok_exit_codes"),
        description="Exit codes that are a success.",
    )
    output: Annotated[Literal["auto", "text", "json", "lines"], OrTemplate()] = Field(
        "auto",
        validation_alias=AliasChoices("stdout_as"),
        description="What `data` is: `json` and `lines` of the standard output, nothing for "
        "`text`; `auto` is `json` where the output is a map or a list.",
    )
    max_output_bytes: Positive = Field(
        1_048_576,
        description="Of what it prints on either stream beyond this, the middle is dropped, "
        "visibly.",
    )
    memory_mb: Positive | None = Field(
        None, description="The most memory of each of its processes, in megabytes."
    )
    max_processes: Positive = Field(
        1_000,
        description="How many processes and threads the worker's user may have more than when it "
        "began; root is not bound by it.",
    )
    kill_after_seconds: Natural = Field(
        5, description="How long it may take to stop before it is killed."
    )


class NoopSettings(SettingsModel):
    """Nothing; the step's input is its result."""


class SetSettings(SettingsModel):
    """Values that become the step's result."""

    values: Mapping | None = Field(
        None, description="The values, by name; the step's input when missing."
    )


SPECS = (
    TaskSpec(
        name="python",
        summary="Call a Python function.",
        settings=PythonSettings,
        required_one_of=(PROGRAMS,),
        code=frozenset(("code", "code_b64")),
    ),
    TaskSpec(
        name="shell",
        summary="Run a command on the worker's machine.",
        settings=ShellSettings,
        writes=writes,
        unknown_outcome="in_doubt",
        required_one_of=(frozenset(("command", "commands")),),
    ),
    TaskSpec(name="noop", summary="Do nothing and hand the input on.", settings=NoopSettings),
    TaskSpec(name="set", summary="Give values names.", settings=SetSettings),
)

__all__ = [
    "PROGRAMS",
    "SPECS",
    "CommandLine",
    "ExitCodes",
    "NoopSettings",
    "PythonSettings",
    "SetSettings",
    "ShellSettings",
]
