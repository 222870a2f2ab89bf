"""What a playbook asks for and nobody gave is told before its first step."""

import json
from pathlib import Path

from tests.cli.test_dry_running import Trial
from tests.cli.test_run import HEAD, Person, person  # noqa: F401  # a fixture

LATE = (
    HEAD + "workflow:\n  - {step: start, next: [first]}\n"
    "  - {step: first, type: set, values: {a: 1}, next: [late]}\n"
    "  - step: late\n    type: http\n    url: 'http://127.0.0.1:1/'\n    auth: cde\n"
    "    headers: {A: '{{ secrets.one }}', B: '{{ secrets.two }}', D: '{{ secrets.given }}',\n"
    "      C: \"{{ secrets.three | default('x') }}\"}\n"
)
SECRETS = [
    f"Warning: not-given: there is no secret '{name}'; set NOETL_SECRET_{name.upper()}"
    " where the worker is started"
    for name in ("one", "two")
]
CREDENTIAL = (
    "Warning: not-given: there is no credential 'cde'; store it with:"
    " noetl-mcp credential set cde …"
)


def test_a_run_names_all_that_is_missing_before_its_first_step(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    person.environment["NOETL_SECRET_GIVEN"] = "hush"

    ran = person.does("run", person.file(LATE))

    lines = ran.err.splitlines()
    warned = [line for line in lines if line.startswith("Warning: not-given")]
    assert warned == [*SECRETS, CREDENTIAL]
    begun = next(number for number, line in enumerate(lines) if "first" in line)
    assert lines.index(CREDENTIAL) < begun
    assert "hush" not in ran.err


def test_nothing_is_said_when_all_is_there(person: Person) -> None:  # noqa: F811  # a fixture
    for name in ("ONE", "TWO", "GIVEN"):
        person.environment[f"NOETL_SECRET_{name}"] = "hush"

    ran = person.does("run", person.file(LATE.replace("    auth: cde\n", "")))

    assert "Warning" not in ran.err


def test_a_dry_run_names_all_that_is_missing(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    text = LATE.replace("    auth: cde\n", "").replace("D: '{{ secrets.given }}',", "")

    ran, as_json = trial.does(text), trial.does(text, "--json")

    assert ran.err.splitlines()[:2] == SECRETS
    assert json.loads(as_json.out)["warnings"] == SECRETS
