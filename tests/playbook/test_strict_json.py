import pytest

from noetl_mcp.playbook.strict_json import strict_json


@pytest.mark.parametrize("text", ["NaN", '{"a": [1, -Infinity]}', "[Infinity]", "", "{", "1 2"])
def test_what_the_standard_does_not_know_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|Expecting|Extra"):
        strict_json(text)


def test_what_is_json_is_its_value() -> None:
    assert strict_json('{"a": [1, -2.5e3, true, null, "NaN"]}') == {
        "a": [1, -2500.0, True, None, "NaN"]
    }
