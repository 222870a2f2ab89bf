"""What models say piece by piece: events from bytes, and one answer from events."""

from typing import Any

import pytest

from noetl_mcp.tasks.models.said import NoAnswer
from noetl_mcp.tasks.models.streamed import Events, spoken, whole

STREAM = 'data: {"content": "ä\u2028"}\r\n\r\n: nothing\r\ndata: [1,\r\ndata: 2]\r\rdata: z'


def test_events_are_the_same_wherever_the_bytes_are_cut() -> None:
    packed = STREAM.encode()
    expected = ['{"content": "ä\u2028"}', "[1,\n2]", "z"]

    for first in range(len(packed)):
        for second in range(first, len(packed)):
            events = Events()
            found = events.feed(packed[:first]) + events.feed(packed[first:second])
            assert found + events.feed(packed[second:], is_last=True) == expected


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ('{"content": "a"}', "a"),
        ('{"choices": [{"delta": {"content": "b"}}]}', "b"),
        ('{"choices": []}', ""),
        ('{"choices": [7]}', ""),
        ("[DONE]", ""),
        ("[1]", ""),
    ],
)
def test_what_an_event_adds_is_its_text(data: str, text: str) -> None:
    assert spoken(data) == text


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("", "neither JSON nor a stream"),
        ("<html>busy</html>", "neither JSON nor a stream"),
        ('{"content": ', "no JSON"),
        ("data: {\n\n", "piece of the stream is no JSON"),
        ("data: 7\n\n", "no JSON object"),
        ('data: {"error": {"message": "too busy"}}\n\n', "too busy"),
        ('data: {"content": "a"}\n\n', "ended before the answer did"),
        ('data: {"choices": [{"delta": {"content": "a"}}]}\n\n', "ended before the answer did"),
    ],
)
def test_what_is_no_answer_is_told(text: str, because: str) -> None:
    with pytest.raises(NoAnswer, match=because):
        whole(text)


def test_whole_calls_may_come_in_a_stream_and_pieces_need_no_index() -> None:
    flat: Any = whole('data: {"tool_calls": [{"name": "a"}, {"name": "b"}]}\n\ndata: [DONE]\n\n')
    pieces: Any = whole(
        'data: {"choices": [{"delta": {"tool_calls": [{"id": "x", "function": {"name": "a",'
        ' "arguments": "{"}}]}}]}\n\n'
        'data: {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "}"}}, 7]},'
        ' "finish_reason": "tool_calls"}]}\n\n'
    )

    assert [one["name"] for one in flat["tool_calls"]] == ["a", "b"]
    (choice,) = pieces["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert call == {"id": "x", "function": {"name": "a", "arguments": "{}"}}
