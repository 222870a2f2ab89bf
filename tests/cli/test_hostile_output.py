"""What others wrote does nothing to the terminal on which it is shown."""

import re

import pytest

from noetl_mcp.cli.columns import tamed
from tests.cli.terminal import at_terminal
from tests.cli.test_run import HEAD, Person, person  # noqa: F401  # a fixture

STEERS = re.compile(r"\x1b|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SPELL = r"\x1b]0;mine\x07\x1b[2J\x9b31m\u202eolleh\rdone"
HOSTILE = HEAD + (
    "workflow:\n  - {step: start, next: [said]}\n"
    "  - step: said\n    type: python\n    code: |\n      def main():\n"
    f"          print('{SPELL}')\n          return '{SPELL}'\n    next: [ask]\n"
    f'  - {{step: ask, type: approve, approve: {{message: "{SPELL}", timeout: 0.5}},\n'
    "     on_error: continue, next: [bad]}\n"
    "  - step: bad\n    type: python\n    code: |\n      def main():\n"
    f"          raise ValueError('{SPELL}')\n"
)
SHOWS = (
    ("show", "1"),
    ("show", "1", "said"),
    ("show", "1", "said", "--json"),
    ("show", "1", "ask"),
    ("show", "1", "bad"),
    ("events", "1"),
    ("events", "1", "--json"),
    ("executions",),
    ("ask", "select chr(27) || '[2J' as x"),
)


def test_what_others_wrote_does_not_steer_the_terminal(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    ran = person.does("run", person.file(HOSTILE))

    plain = {**person.environment, "TERM": "dumb"}  # tables are in bold else
    shown = ["\n".join(at_terminal(200, *words, **plain)) for words in SHOWS]

    for text in (ran.err, *shown):
        assert text
        assert not STEERS.search(text), text
    assert r"\u001b]0;mine" in ran.err


def test_an_error_that_repeats_what_others_wrote_does_not_steer_the_terminal(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    hostile = "\x1b]0;mine\x07\x1b[2J\u202e"

    for words in (
        ("run", f"{hostile}.yaml"),
        ("run", person.file(HOSTILE), "--set", hostile),
        ("show", hostile),
        (hostile,),
        ("show", f"--{hostile}"),
    ):
        ran = person.does(*words)

        assert ran.code != 0
        assert "mine" in ran.err
        assert not STEERS.search(ran.err), ran.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain äöü 🙂\n\tand tabs", "plain äöü 🙂\n\tand tabs"),
        ("\x1b[32mgreen\x1b[0m", "green"),
        ("a\r\nb\rc", "a\nb\\u000dc"),
        ('{"a": "\x9b"}', '{"a": "\\u009b"}'),
    ],
)
def test_colours_go_and_what_steers_is_spelt_out(text: str, shown: str) -> None:
    assert tamed(text) == shown
