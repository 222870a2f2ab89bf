"""Each rule of a plan is found where it is broken, and only there."""

import pytest

from noetl_mcp.bim.floorplan.checks.registry import FAMILIES, errors, findings
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.rules import ERROR, WARNING
from noetl_mcp.bim.floorplan.validate import validate
from tests.bim.floorplan.breaking import CASES, Case

RULES = {rule.code: rule for _, rules in FAMILIES for rule in rules}


def codes(text: str) -> list[str]:
    """Return the codes of everything that is found in a plan that can be read."""
    answer = validate(text)
    found = [*answer["errors"], *answer.get("warnings", ())]
    assert all(one["type"] != "parse" for one in found), found
    return [one["code"] for one in found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_a_rule_is_found_where_it_is_broken(case: Case) -> None:
    assert case.code in codes(case.wrong)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_a_rule_is_not_found_where_it_is_kept(case: Case) -> None:
    assert case.code not in codes(case.right)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_every_finding_has_its_place_and_the_severity_of_its_rule(case: Case) -> None:
    answer = validate(case.wrong)

    for severity, found in ((ERROR, answer["errors"]), (WARNING, answer.get("warnings", []))):
        for one in found:
            assert one["line"] >= 1
            assert one["column"] >= 1
            assert RULES[one["code"]].severity == severity
            assert RULES[one["code"]].type == one["type"]
    assert answer["valid"] == (not answer["errors"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_the_errors_alone_are_those_of_all_checks(case: Case) -> None:
    plan = read(case.wrong).plan
    subject = Subject(plan, understood(plan))

    assert list(errors(subject)) == [one for one in findings(subject) if one.severity == ERROR]


def test_every_rule_has_a_case() -> None:
    assert sorted(case.code for case in CASES) == sorted(RULES)
