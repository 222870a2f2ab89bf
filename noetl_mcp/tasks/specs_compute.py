"""Task types that compute here: python, shell, noop and set. Describes them; runs nothing."""

from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field

from noetl_mcp.playbook.values import Code, Flag, Mapping, OrTemplate, Text
from noetl_mcp.tasks.contract import TaskSpec, writes
from noetl_mcp.tasks.setting_types import Base64, Natural, Positive, Texts, Words
from noetl_mcp.tasks.settings_model import Group, SettingsModel

PROGRAMS = frozenset(("code", "script", "code_b64"))
ExitCodes = Annotated[list[Annotated[int, Field(ge=0, le=255)]], OrTemplate()]


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

    command: Text | None = Field(
        None,
        validation_alias=AliasChoices("command", "cmd"),
        description="The command line; with `args` the program alone, and no shell reads it.",
    )
    commands: Texts | None = Field(
        None,
        validation_alias=AliasChoices("commands", "cmds"),
        description="Command lines, one after another until one fails.",
    )
    args: Texts | None = Field(
        None, description="Arguments, each handed over as it is; the safe place for values."
    )
    cwd: Text | None = Field(
        None,
        validation_alias=AliasChoices("cwd", "working_dir"),
        description="The folder it runs in; one of its own when missing.",
    )
    env: Words = Field(
        default_factory=dict, description="What its environment holds beside PATH, HOME and LANG."
    )
    stdin: Text | None = Field(None, description="What it reads on its standard input.")
    shell: Text = Field("/bin/sh", description="The shell that reads command lines.")
    ok_codes: ExitCodes = Field([0], description="Exit codes that are a success.")
    output: Annotated[Literal["text", "json", "lines"], OrTemplate()] = Field(
        "text",
        validation_alias=AliasChoices("stdout_as"),
        description="How its standard output is read.",
    )
    max_output_bytes: Positive = Field(
        1_048_576, description="A longer output is a failure; nothing is cut."
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
    "ExitCodes",
    "NoopSettings",
    "PythonSettings",
    "SetSettings",
    "ShellSettings",
]
