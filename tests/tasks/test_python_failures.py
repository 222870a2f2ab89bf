import asyncio
import os
from typing import Any

import pytest

from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.tasks.calls import Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.python.pool import Habits
from noetl_mcp.tasks.python.task import Python
from tests.tasks.python_steps import Recording, call, result_of, with_python

FOR_EVER = "def main():\n    print('begun')\n    while True:\n        pass"


def failure_of(code: str, data: Any = None, **settings: Any) -> Failed:
    with pytest.raises(Failed) as failed:
        result_of(call(code, data, **settings))
    return failed.value


def shown(failed: Failed) -> Any:
    assert isinstance(failed.details, dict)
    return failed.details


def test_an_exception_fails_the_step_with_the_lines_of_the_code() -> None:
    code = """
import json

def check(n):
    if n == 3:
        raise ValueError("three")

def main(n):
    json.loads("1", object_hook=None)
    check(n)
"""

    failed = failure_of(code, {"n": 3})

    assert (failed.code, failed.message) == ("value-error", "ValueError: three")
    assert failed.retriable
    assert failed.details == {
        "type": "ValueError",
        "line": 6,
        "traceback": "line 10, in main\n    check(n)\n"
        'line 6, in check\n    raise ValueError("three")\n'
        "ValueError: three",
    }


def test_lines_of_libraries_are_not_shown() -> None:
    failed = failure_of("import json\ndef main(): return json.loads('{')")

    assert failed.code == "json-decode-error"
    assert shown(failed)["traceback"].startswith("line 2, in main\n")
    assert shown(failed)["traceback"].count("line ") == 2  # the other is the message's own


@pytest.mark.parametrize(
    ("code", "expected", "message"),
    [
        (
            "class HTTPError(Exception): pass\ndef main(): raise HTTPError()",
            "http-error",
            "HTTPError",
        ),
        (
            "class _Odd_One(Exception): pass\ndef main(): raise _Odd_One(1)",
            "odd-one",
            "_Odd_One: 1",
        ),
        ("def main(): return 1 / 0", "zero-division-error", "ZeroDivisionError: division by zero"),
        ("def main(): return main()", "recursion-error", "RecursionError: maximum recursion"),
        ("import nothing_like_it", "module-not-found-error", "ModuleNotFoundError: No module"),
        ("def main(): raise KeyboardInterrupt", "keyboard-interrupt", "KeyboardInterrupt"),
        ("import sys\ndef main(): sys.exit(0)", "system-exit", "SystemExit: 0 (the program asked"),
        ("def main(): raise SystemExit", "system-exit", "SystemExit (the program asked to exit"),
        ("x = [0][1]", "index-error", "IndexError: list index out of range"),
        ("def main(): raise Exception('a\\0b\\ud800')", "exception", "Exception: a�b?"),
        ("def main(): raise Exception('x' * 9999)", "exception", "Exception: xxxx"),
    ],
)
def test_whatever_is_raised_has_a_code_and_a_sentence(
    code: str, expected: str, message: str
) -> None:
    failed = failure_of(code)

    assert failed.code == expected
    assert failed.message.startswith(message)
    assert len(failed.message) <= 2_000


def test_an_exception_that_cannot_be_shown_is_told_all_the_same() -> None:
    code = """
class Odd(Exception):
    def __str__(self): raise RuntimeError
def main(): raise Odd
"""

    assert failure_of(code).message == "Odd: (its text cannot be shown)"


def test_what_led_to_an_exception_is_told() -> None:
    code = """
def main():
    try:
        {}["door"]
    except KeyError as error:
        raise ValueError("no door") from error
"""

    assert shown(failure_of(code))["traceback"].endswith(
        "ValueError: no door\nbecause of KeyError: 'door'"
    )


def test_a_group_of_exceptions_tells_what_is_in_it() -> None:
    code = "def main(): raise ExceptionGroup('two', [ValueError(1), KeyError(2)])"

    assert "  - ValueError: 1\n  - KeyError: 2" in shown(failure_of(code))["traceback"]


def test_a_deep_recursion_is_shortened() -> None:
    text = shown(failure_of("def main(): return main()"))["traceback"]

    assert "more …" in text
    assert len(text) < 2_000


def test_a_syntax_error_names_its_line() -> None:
    failed = failure_of("x = 1\ndef main(:\n    pass")

    assert failed.code == "syntax-error"
    assert failed.message == "SyntaxError in line 2: invalid syntax"
    assert shown(failed)["line"] == 2
    assert not failed.retriable


def test_a_secret_is_hidden_in_what_is_told() -> None:
    around = Recording()
    code = "def main(token):\n    print('with', token)\n    raise ValueError(f'bad {token}')"

    with pytest.raises(Failed) as failed:
        result_of(call(code, {"token": Secret("hush-hush")}, around))

    assert failed.value.message == "ValueError: bad ••••••"
    assert "hush" not in str(failed.value.details)
    assert around.texts == ["with ••••••"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os\ndef main(): os._exit(3)", "ended with exit status 3 before it returned"),
        ("import os\ndef main(): os._exit(0)", "ended with exit status 0 before it returned"),
        ("import os\ndef main(): os.kill(os.getpid(), 9)", "ended by signal 9 (SIGKILL)"),
        ("import ctypes\ndef main(): ctypes.string_at(0)", "ended by signal 11 (SIGSEGV)"),
        ("import os\ndef main(): os.closerange(3, 500)", "ended with exit status 1 before"),
    ],
)
def test_a_program_that_ends_its_process_fails_and_harms_no_other(code: str, message: str) -> None:
    async def work(python: Python) -> Any:
        fine = call("def main(n): return n", {"n": 1})
        failing = python.execute(call(code))
        return await asyncio.gather(python.execute(fine), failing, return_exceptions=True)

    fine, failed = with_python(work)

    assert fine == 1
    assert isinstance(failed, Failed)
    assert failed.code == "died"
    assert message in failed.message
    assert failed.retriable


def test_what_was_printed_before_the_end_is_kept() -> None:
    around = Recording()

    with pytest.raises(Failed):
        result_of(call("import os\ndef main(): print('last words'); os._exit(1)", around=around))

    assert around.texts == ["last words"]


def test_too_much_memory_is_told_as_such() -> None:
    code = "def main(n): return len(bytearray(n * 1024 * 1024))"

    failed = failure_of(code, {"n": 200}, memory_mb=64)

    assert failed.code == "memory"
    assert failed.message == "the program asked for more memory than it may have: 64 MB"
    assert result_of(call(code, {"n": 20}, memory_mb=64)) == 20 * 1024 * 1024


def test_a_program_that_takes_too_long_is_killed() -> None:
    around = Recording()

    with pytest.raises(Failed, match=r"the program was ended after 0.1 seconds") as failed:
        result_of(call(FOR_EVER, around=around, timeout=0.1))

    assert failed.value.code == "timeout"
    assert failed.value.retriable


def test_a_program_that_ignores_the_first_signal_is_killed_all_the_same() -> None:
    code = "import signal\ndef main():\n    signal.signal(15, signal.SIG_IGN)\n    while True: pass"

    with pytest.raises(Failed, match="was ended after"):
        with_python(
            lambda python: python.execute(call(code, timeout=0.1)),
            Habits(grace=0.05),
        )


def test_a_write_that_took_too_long_or_died_has_an_unknown_outcome() -> None:
    with pytest.raises(UnknownOutcome) as late:
        result_of(call(FOR_EVER, timeout=0.1, writes=True))
    with pytest.raises(UnknownOutcome) as died:
        result_of(call("import os\ndef main(): os._exit(3)", writes=True))

    assert late.value.code == "timeout"
    assert died.value.code == "died"
    assert died.value.evidence == {"exit_status": 3}


def test_a_write_is_not_begun_when_the_lease_may_be_gone() -> None:
    around = Recording(may_send=False)
    code = "def main(): return print('begun')"

    async def work(python: Python) -> None:
        with pytest.raises(HandedBack):
            await python.execute(call(code, around=around, writes=True))
        await python.execute(call(code, around=around))

    with_python(work)

    assert around.texts == ["begun"]


def test_a_cancelled_call_leaves_no_process_behind() -> None:
    around = Recording()
    code = """
import os, subprocess
def main():
    other = subprocess.Popen(["sleep", "1000"])
    print(os.getpid(), other.pid)
    while True:
        pass
"""

    async def work(python: Python) -> None:
        task = asyncio.create_task(python.execute(call(code, around=around)))
        await around.heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        own, other = map(int, around.texts[0].split())
        with pytest.raises(ProcessLookupError):
            os.kill(own, 0)
        while is_running(other):  # its new parent puts it away
            await asyncio.sleep(0.01)

    with_python(work)


def is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_signal_to_the_worker_is_not_one_to_the_program() -> None:
    assert result_of(call("import os\ndef main(): return os.getpgid(0) == os.getpid()"))


def test_a_forked_copy_answers_nothing() -> None:
    code = """
import os
def main():
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    return "from the copy"
"""

    assert result_of(call(code)) == 0


def test_an_alarm_that_was_left_rings_in_no_later_call() -> None:
    async def work(python: Python) -> list[Any]:
        one = call("import signal\ndef main(): return signal.alarm(1)")
        return [await python.execute(one) for _ in range(3)]

    assert with_python(work) == [0, 0, 0]


def test_nothing_is_kept_of_a_core() -> None:
    code = "import resource\ndef main(): return resource.getrlimit(resource.RLIMIT_CORE)"

    assert result_of(call(code)) == [0, 0]
