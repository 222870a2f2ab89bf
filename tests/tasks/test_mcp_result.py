import mcp_types as types
import pytest

from noetl_mcp.tasks.mcp_result import of_tool


def tool_said(text: str) -> object:
    return of_tool(types.CallToolResult(content=[types.TextContent(type="text", text=text)]))[
        "data"
    ]


def test_a_tool_whose_text_is_json_gives_its_value() -> None:
    assert tool_said(' {"rooms": [1, 2]}') == {"rooms": [1, 2]}


@pytest.mark.parametrize("text", ["7", "{rooms}", '{"rooms": NaN}', "[" * 100_000])
def test_a_tool_whose_text_is_no_json_object_or_list_gives_the_text(text: str) -> None:
    assert tool_said(text) == text
