"""The task type `shell`: what runs, where, with what, and what is left of it."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from noetl_mcp.tasks.calls import Call, Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.pieces import pieces_of
from noetl_mcp.tasks.shell import Shell
from noetl_mcp.tasks.shell_line import line
from noetl_mcp.tasks.specs_compute import ShellSettings
from tests.tasks.python_steps import DEADLINE, Recording

LINUX_ONLY = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")


def call(
    around: Recording | None = None, *, timeout: float | None = 30, writes: bool = True, **more: Any
) -> Call:
    return Call(
        "shell",
        ShellSettings.model_validate(more),
        None,
        around or Recording(),
        timeout=timeout,
        writes=writes,
    )


def run(one: Call, *, allowed: bool = True, **options: Any) -> Any:
    async def main() -> Any:
        shell = Shell(allowed=allowed, **options)
        try:
            return await asyncio.wait_for(shell.execute(one), DEADLINE)
        finally:
            await shell.close()

    return asyncio.run(main())


def result_of(command: object = None, **more: Any) -> Any:
    options = {key: more.pop(key) for key in ("folders",) if key in more}
    given = more if command is None else {"command": command, **more}
    return run(call(**given), **options)


def failure_of(command: object = None, **more: Any) -> Failed:
    with pytest.raises(Failed) as caught:
        result_of(command, **more)
    return caught.value


def rendered(command: str, *values: object) -> dict[str, Any]:
    """A command line as it arrives: cut by the compiler, its values rendered."""
    made = ShellSettings.model_validate({"command": command}).command
    assert isinstance(made, dict)
    assert len(made["values"]) == len(values)
    return {**made, "values": list(values)}


def test_a_command_gives_its_exit_code_and_what_it_printed() -> None:
    assert result_of("echo out; echo err >&2") == {
        "exit_code": 0,
        "stdout": "out\n",
        "stderr": "err\n",
    }


def test_nothing_runs_where_commands_are_not_allowed(tmp_path: Path) -> None:
    with pytest.raises(Failed) as caught:
        run(call(command=f"touch {tmp_path}/there"), allowed=False)

    assert caught.value.code == "shell-not-allowed"
    assert not caught.value.retriable
    assert not (tmp_path / "there").exists()


def test_a_worker_that_may_have_lost_its_lease_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(HandedBack):
        run(call(Recording(may_send=False), command=f"touch {tmp_path}/there"))

    assert not (tmp_path / "there").exists()


def test_arguments_are_handed_over_as_they_are() -> None:
    result = result_of(command="printf", args=["%s|", "a b", "$HOME", "'", ""])

    assert result["stdout"] == "a b|$HOME|'||"


def test_commands_run_one_after_another_until_one_fails() -> None:
    failed = failure_of(commands=["echo 1", "echo no >&2; exit 3", "echo 3"])

    assert failed.message == "command 2 ended with exit code 3: no"
    assert failed.details == {"exit_code": 3, "stdout": "1", "stderr": "no"}


def test_commands_share_a_folder() -> None:
    assert result_of(commands=["echo here > a", "cat a"])["stdout"] == "here\n"


def test_an_exit_code_is_a_failure_unless_it_is_said_to_be_none() -> None:
    assert failure_of("exit 1").code == "exit-code"
    assert result_of("exit 1", ok_exit_codes=[0, 1])["exit_code"] == 1


HOSTILE = ["; touch hurt", "$(touch hurt)", "`touch hurt`", "' ; touch hurt '", '" ; touch hurt "']
HOSTILE += ["a\nb", "*", "-n", "\\", "", "ü", "$HOME", "a b"]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "command",
    [
        "printf '%s|' {{ v }}; ls",
        'printf "%s|" "{{ v }}"; ls',
        "printf '%s|' '{{ v }}'; ls",
        'printf \'%s|\' "$(printf %s "{{ v }}")"; ls',
        "printf '%s|' {{ v }} # it's\nls",
    ],
)
def test_a_value_is_never_read_as_code(command: str, value: str) -> None:
    result = result_of(command=rendered(command, value))

    assert result["stdout"] == f"{value}|"


@pytest.mark.parametrize(
    ("value", "word"),
    [(3, "3"), (True, "true"), (None, "null"), ([1, "a"], '[1,"a"]'), ({"a": 1.5}, '{"a":1.5}')],
)
def test_values_that_are_no_texts_are_written_as_json(value: object, word: str) -> None:
    assert result_of(command=rendered("printf %s {{ v }}", value))["stdout"] == word


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo $(( {{ n }} + 1 ))", "inside \\(\\( \\)\\)"),
        ("echo $(( $(echo {{ n }}) ))", "inside \\(\\( \\)\\)"),
        ("echo `cat {{ f }}`", "backticks"),
        ("echo ${a:-{{ b }}}", "inside \\$\\{ \\}"),
        ("cat <<END\n{{ x }}\nEND", "here-document"),
        ("cat <<'END'\n{{ x }}\nEND\n", "here-document"),
        ("echo \\{{ x }}", "backslash"),
        ("{% if a %}ls{% endif %}", "cannot stand in it"),
        ("echo {{ a", "never closed"),
    ],
)
def test_values_are_refused_where_a_shell_looks_into_them(command: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        ShellSettings.model_validate({"command": command})


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("echo ${#a} {{ x }}", 'echo ${#a} "${NOETL_VALUE_1}"'),
        ("a {{ x }} # {{ y }}\nb {{ z }}", 'a "${NOETL_VALUE_1}" # \nb "${NOETL_VALUE_3}"'),
        (
            "cat <<E {{ x }}\n$a\nE\n{{ y }}",
            'cat <<E "${NOETL_VALUE_1}"\n$a\nE\n"${NOETL_VALUE_2}"',
        ),
        ("x $((1<<2)) {{ y }}", 'x $((1<<2)) "${NOETL_VALUE_1}"'),
        ("d '{% raw %}{{.N}}{% endraw %}' {{ x }}", "d '{{.N}}' \"${NOETL_VALUE_1}\""),
    ],
)
def test_a_line_stays_as_it_was_written_around_its_values(command: str, read: str) -> None:
    cut = ShellSettings.model_validate({"command": command}).command

    assert line(pieces_of(cut).literals) == read


def test_the_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOT_FOR_ALL", "secret")

    lines = result_of("env", env={"A": "1", "B": True})["stdout"].splitlines()

    names = {one.split("=")[0] for one in lines} - {"PWD", "OLDPWD", "SHLVL", "_"}
    assert names == {"PATH", "HOME", "TMPDIR", "LANG", "A", "B"}
    assert "B=true" in lines


def test_it_runs_in_a_folder_of_its_own_that_goes() -> None:
    folder = result_of("pwd; touch left")["stdout"].strip()

    assert "noetl-python-" in folder
    assert not os.path.exists(folder)


def test_it_runs_in_an_allowed_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    result_of("touch there", cwd="sub", folders=[tmp_path])

    assert (tmp_path / "sub" / "there").exists()


@pytest.mark.parametrize(
    ("cwd", "code"),
    [("../", "outside-folders"), ("/etc", "outside-folders"), ("no", "no-such-file"),
     ("file", "link"), ("way-out", "link")],
)  # fmt: skip
def test_it_runs_nowhere_else(tmp_path: Path, cwd: str, code: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "way-out").symlink_to("/etc")

    assert failure_of("pwd", cwd=cwd, folders=[tmp_path]).code == code


def test_it_reads_its_standard_input() -> None:
    text = "ü\n" * 500_000

    assert result_of("wc -c", stdin=text)["stdout"].strip() == str(len(text.encode()))


def test_there_is_nothing_to_read_unless_it_is_given() -> None:
    assert result_of("cat")["stdout"] == ""


@pytest.mark.parametrize("command", ["head -n 1", "true", "exec <&-; sleep 0.1", "sleep 0.1"])
def test_a_command_need_not_read_its_input(command: str) -> None:
    assert result_of(command, stdin="a\n" * 1_000_000)["exit_code"] == 0


def test_a_command_may_close_what_it_prints_to() -> None:
    assert result_of("exec >&- 2>&-; sleep 0.1") == {"exit_code": 0, "stdout": "", "stderr": ""}


def test_what_is_printed_is_told_line_by_line_while_it_runs() -> None:
    around = Recording()

    async def main() -> None:
        shell = Shell(allowed=True)
        doing = asyncio.create_task(
            shell.execute(call(around, command="echo early; sleep 20; echo late"))
        )
        await asyncio.wait_for(around.heard.wait(), 10)
        doing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doing
        await shell.close()

    began = time.monotonic()
    asyncio.run(main())

    assert around.lines == [("stdout", "early")]
    assert time.monotonic() - began < 10


def test_of_too_much_output_the_middle_is_dropped_visibly() -> None:
    around = Recording()

    result = run(call(around, command="seq 1 200000", max_output_bytes=1_000))

    assert result["stdout"].startswith("1\n2\n")
    assert result["stdout"].endswith("199999\n200000\n")
    assert "… 1,287,895 bytes were dropped here …" in result["stdout"]
    assert len(result["stdout"]) < 1_100
    assert "more bytes were printed and dropped" in around.texts[-1]


def test_binary_output_is_shown_as_far_as_it_is_text() -> None:
    assert result_of(r"printf 'a\000b\377'")["stdout"] == "a�b�"


@pytest.mark.parametrize(
    ("command", "more", "data"),
    [
        ("echo '{\"a\": [1]}'", {}, {"a": [1]}),
        ("echo '[1'", {}, None),
        ("echo 7", {}, None),
        ("echo 7", {"stdout_as": "json"}, 7),
        ("echo '[1]'", {"stdout_as": "text"}, None),
        ("printf 'a\\nb\\n'", {"stdout_as": "lines"}, ["a", "b"]),
    ],
)
def test_data_is_what_the_output_holds(command: str, more: dict[str, Any], data: object) -> None:
    assert result_of(command, **more).get("data") == data


def test_output_that_must_be_json_and_is_not_is_a_failure() -> None:
    assert failure_of("echo no", stdout_as="json").code == "not-json"
    assert failure_of("seq 1 1000", stdout_as="lines", max_output_bytes=10).code == "too-long"


@LINUX_ONLY
def test_what_takes_too_long_is_ended_with_all_of_its_group(tmp_path: Path) -> None:
    command = f"sh -c 'trap \"\" TERM; echo $$ > {tmp_path}/pid; sleep 60 & wait; sleep 60'"

    with pytest.raises(UnknownOutcome) as caught:
        run(call(command=command, timeout=0.5, kill_after_seconds=0))

    assert caught.value.code == "timeout"
    assert _is_over(int((tmp_path / "pid").read_text()))


def test_a_command_that_reads_and_takes_too_long_has_failed() -> None:
    with pytest.raises(Failed, match=r"ended after 0\.3 seconds"):
        run(call(command="sleep 60", timeout=0.3, writes=False))


@LINUX_ONLY
def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    began = time.monotonic()

    result_of(f"sleep 60 & echo $! > {tmp_path}/pid")

    assert time.monotonic() - began < 10
    assert _is_over(int((tmp_path / "pid").read_text()))


@LINUX_ONLY
def test_many_processes_end_together(tmp_path: Path) -> None:
    each = "sh -c 'sleep 60 & sleep 60' & echo $! >> pids"
    command = f"cd {tmp_path}; for i in 1 2 3 4 5 6 7 8; do {each}; done; wait"

    with pytest.raises(UnknownOutcome):
        run(call(command=command, timeout=1, kill_after_seconds=0))

    assert all(_is_over(int(one)) for one in (tmp_path / "pids").read_text().split())


WORKER = """
import asyncio, sys
from tests.tasks.test_shell import call
from noetl_mcp.tasks.shell import Shell
asyncio.run(Shell(allowed=True).execute(call(command=sys.argv[1])))
"""


@LINUX_ONLY
def test_a_command_ends_with_its_worker(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = f"echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 60"
    worker = subprocess.Popen([sys.executable, "-c", WORKER, command])
    for _ in range(500):
        if pid.exists():
            break
        time.sleep(0.02)

    worker.kill()
    worker.wait()

    assert _is_over(int(pid.read_text()))


def test_a_command_that_is_killed_leaves_a_write_in_doubt() -> None:
    with pytest.raises(UnknownOutcome, match="SIGKILL"):
        result_of("kill -9 $$")


def test_memory_is_bounded() -> None:
    code = "x = bytearray(10**9)"

    failed = failure_of(command=sys.executable, args=["-c", code], memory_mb=100)

    assert "MemoryError" in failed.message


def test_a_program_that_is_not_there_is_named() -> None:
    assert (
        "'no-such-program' cannot be run" in failure_of(command="no-such-program", args=[]).message
    )
    assert "not found" in failure_of("no-such-program").message


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"command": "cat", "args": ["a\0b"]}, "bad-command"),
        ({"command": "env", "env": {"A=B": "c"}}, "bad-command"),
        ({"command": "env", "env": {"A": "x" * 200_000}}, "too-long"),
    ],
)
def test_what_no_process_can_be_given_is_refused(given: dict[str, Any], code: str) -> None:
    assert failure_of(**given).code == code


def _is_over(pid: int) -> bool:
    """Whether a process ends within a moment."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
