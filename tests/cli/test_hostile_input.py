"""Whatever is typed, piped or full, the answer is a sentence and an exit code."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.commands import Ran, noetl
from tests.cli.test_run import HELLO, Person, person, until  # noqa: F401  # a fixture

DEEP = ".".join("a" * 2_001) + "=1"
COMMAND = [sys.executable, "-m", "noetl_mcp"]


def raw(*arguments: bytes) -> Ran:
    """Run the command with arguments that need not be text."""
    words = [one.encode() for one in COMMAND] + list(arguments)
    done = subprocess.run(
        words, capture_output=True, timeout=60, env={**os.environ, "NO_COLOR": "1"}
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize(
    "words",
    [
        (b"run", b"examples/hello", b"--label", b"a=\xff"),
        (b"executions", b"--label", b"\xff=1"),
        (b"cancel", b"1", b"--reason", b"\xff\x01"),
        (b"ask", b"select \xff"),
        (b"validate", b"\xff.yaml"),
    ],
)
def test_an_argument_that_is_no_text_is_refused(words: tuple[bytes, ...]) -> None:
    ran = raw(*words)

    assert (ran.code, ran.out) == (2, "")
    assert "is not text in UTF-8" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("run", "examples/hello", "--version", "99999999999"),
        ("run", "examples/hello", "--id", "k" * 8_000),
        ("run", "examples/hello", "--id", " "),
        ("run", "examples/hello", "--set", DEEP),
        ("token", "create", "x", "--role", "admin", "--lasts", "9" * 20 + "d"),
        ("token", "create", "x", "--role", "admin", "--lasts", "9" * 5_000 + "s"),
        ("token", "create", "x", "--role", "admin", "--lasts", "36526d"),
        ("token", "create", "x", "--role", "admin", "--lasts", "0d"),
        ("token", "create", "x", "--role", "admin", "--lasts", "٣d"),
    ],
)
def test_what_is_too_large_to_be_meant_is_refused(words: tuple[str, ...]) -> None:
    ran = noetl(*words)

    assert (ran.code, ran.out) == (2, "")
    assert "Error: " in ran.err


def test_a_token_may_last_a_century(person: Person) -> None:  # noqa: F811
    assert person.does("token", "create", "x", "--lasts", "36525d").code == 0


def test_what_only_the_database_refuses_is_a_sentence(person: Person) -> None:  # noqa: F811
    person.does("submit", person.file(HELLO))

    ran = person.does("catalog", "show", "tests/t", "--version", "99999999999")

    assert (ran.code, "integer out of range" in ran.err) == (1, True)


def test_a_value_that_is_set_too_deep_is_a_sentence(person: Person) -> None:  # noqa: F811
    person.does("run", person.file(HELLO), "--detach")

    ran = person.does("rerun", "1", "--set", DEEP)

    assert ran.code == 1
    assert "a value stands at most 200 levels deep\nnothing was started" in ran.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_a_sentence(person: Person) -> None:  # noqa: F811
    file = person.file(HELLO)
    environment = {**os.environ, **person.environment, "NO_COLOR": "1"}

    for words in (("rules",), ("run", file, "--json"), ("executions",), ("ask", "playbooks")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, env=environment, timeout=60
            )
        last = done.stderr.decode().splitlines()[-1]
        assert (done.returncode, last) == (
            1,
            "Error: what it says cannot be written: No space left on device",
        )
        assert b"Traceback" not in done.stderr


def test_who_reads_no_further_has_what_he_wanted(person: Person) -> None:  # noqa: F811
    person.does("run", person.file(HELLO))

    for words in (
        ("rules",),
        ("executions",),
        ("events", "1"),
        ("ask", "playbooks"),
        ("show", "1"),
    ):
        with person.begins(*words) as process:
            assert process.stdout is not None
            process.stdout.close()
            code = process.wait(60)
            told = process.stderr.read() if process.stderr is not None else ""
        assert (code, "Error" in told, "Traceback" in told) == (0, False, False), (words, told)


def test_a_stream_without_an_end_is_not_read(person: Person) -> None:  # noqa: F811
    pipe = person.folder / "p.yaml"
    os.mkfifo(pipe)
    file = person.file(HELLO)

    for words in (
        ("validate", str(pipe)),
        ("run", str(pipe)),
        ("run", file, "--payload", str(pipe)),
    ):
        ran = person.does(*words)
        assert (ran.code, "is no file" in ran.err + ran.out) == (1, True), words
    zero = person.does("run", file, "--payload", "/dev/zero")
    assert (zero.code, "is no file" in zero.err) == (1, True)


def test_what_the_shell_hands_over_is_read(person: Person) -> None:  # noqa: F811
    file, payload = person.file(HELLO), b'{"n": 9}'

    for given in ("-", "/dev/stdin", "/dev/fd/0"):
        ran = person.does("run", file, "--payload", given, stdin=payload)
        assert (ran.code, json.loads(ran.out)["n"]) == (0, 10)
    assert person.does("validate", "/dev/stdin", stdin=HELLO.encode()).code == 0


def test_no_more_of_a_payload_is_read_than_is_taken(person: Person) -> None:  # noqa: F811
    with open("/dev/zero", "rb") as zero:
        done = subprocess.run(
            [*COMMAND, "run", person.file(HELLO), "--payload", "/dev/stdin"],
            stdin=zero,
            capture_output=True,
            env={**os.environ, **person.environment},
            timeout=60,
        )

    assert (done.returncode, b"it is too large" in done.stderr) == (1, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_question_that_is_ended_leaves_nothing(person: Person, number: int) -> None:  # noqa: F811
    temp = person.folder / "temp"
    temp.mkdir()
    person.environment["TMPDIR"] = str(temp)
    with person.begins(
        "ask", "select count(*) from range(100000000000) a, range(9000) b"
    ) as asking:
        until(lambda: list(temp.glob("noetl-ask-*")))
        time.sleep(1)

        asking.send_signal(number)
        _, told = asking.communicate(timeout=30)

    assert (asking.returncode, told.strip()) == (130, "stopped")
    assert list(temp.iterdir()) == []
