"""What is printed fits the terminal, and nothing is lost by that."""

from tests.cli.terminal import at_terminal
from tests.cli.test_run import HEAD, Person, person  # noqa: F401  # a fixture

LONG = HEAD.replace("path: tests/t", "path: tests/with_a_name/that_is_rather_long") + (
    "workflow:\n  - {step: start, next: [bad]}\n"
    "  - step: bad\n    type: python\n    code: |\n      def main():\n"
    "          raise ValueError('it went wrong for a reason that needs many more words than fit')\n"
)


def test_nothing_is_wider_than_the_terminal(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    person.does("run", person.file(LONG))

    for words in (("executions",), ("show", "1"), ("show", "1", "bad"), ("catalog", "list")):
        for columns in (80, 120):
            lines = at_terminal(columns, *words, **person.environment)
            assert lines
            assert max(map(len, lines)) <= columns, (words, lines)


def test_why_an_execution_failed_is_told_whole(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    person.does("run", person.file(LONG))
    reason = "bad: ValueError: it went wrong for a reason that needs many more words than fit"

    narrow = at_terminal(80, "executions", **person.environment)
    piped = person.does("executions").out.splitlines()

    assert reason in " ".join(" ".join(narrow).split())
    assert piped[0].split()[-1] == "WHY"
    assert piped[1].endswith(reason)
