"""How the body of an answer is read."""

import json
from typing import Any

import pytest

from noetl_mcp.tasks.http_answer import Form, Unreadable, data_of, excerpt
from noetl_mcp.wire.exchange import Answer


def read(body: bytes, media: str = "", form: Form = "auto") -> Any:
    headers = {"content-type": media} if media else {}
    return data_of(Answer(200, headers, body, "http://a/", 0.1), form)


@pytest.mark.parametrize(
    ("body", "media", "data"),
    [
        (b'{"a": [1, null]}', "application/json", {"a": [1, None]}),
        (b"[1]", "Application/Problem+JSON; charset=utf-8", [1]),
        (b'\xef\xbb\xbf{"a": 1}', "text/json", {"a": 1}),
        ('{"a": "ü"}'.encode("latin-1"), "application/json; charset=iso-8859-1", {"a": "ü"}),
        ('{"a": "ü"}'.encode("utf-16"), "application/json; charset=utf-16", {"a": "ü"}),
        (b"OK", "application/json", "OK"),
        (b"{broken", "application/json", "{broken"),
        (b"12345678901234567", "application/json", 12345678901234567),
        (b"hello", "text/plain", "hello"),
        ("grün".encode(), "text/html", "grün"),
        ("grün".encode("latin-1"), "text/html", "grün"),
        ("grün".encode("latin-1"), "text/html; charset=utf-8", "gr\ufffdn"),
        ("grün".encode("cp1252"), 'text/csv; charset="Windows-1252"', "grün"),
        (b"a", "text/plain; charset=unicode_escape", "a"),
        (b"\\x41", "text/plain; charset=unicode_escape", "\\x41"),
        (b"a", "text/plain; charset=utf-none", "a"),
        (b"<svg/>", "image/svg+xml", "<svg/>"),
        (b'{"a": 1}\n{"a": 2}\n', "application/x-ndjson", '{"a": 1}\n{"a": 2}\n'),
        (b'{"a": 1}', "text/plain", '{"a": 1}'),
        (b' {"a": 1}', "", {"a": 1}),
        (b"{a", "", "{a"),
        (b"hello", "", "hello"),
        (b"\xff\xfe", "", "//4="),
        (b"a\0b", "text/plain", "YQBi"),
        (b"a\0b", "", "YQBi"),
        (b"\x89PNG", "image/png", "iVBORw=="),
        (b"hello", "application/octet-stream", "aGVsbG8="),
        (b"", "application/json", None),
        (b"", "image/png", None),
        (b"", "", None),
    ],
)
def test_without_more_words_the_content_type_says_how(body: bytes, media: str, data: Any) -> None:
    assert read(body, media) == data


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": NaN}',
        b"[Infinity]",
        b"-Infinity",
        b"[1e999]",
        b'["\\ud800"]',
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("form", ["auto", "json"])
def test_what_json_has_no_word_for_is_refused(body: bytes, form: Form) -> None:
    with pytest.raises(Unreadable):
        read(body, "application/json", form)


def test_asked_for_json_it_must_be_json() -> None:
    assert read(b'{"a": 1}', "text/plain", "json") == {"a": 1}
    assert read(b"", "text/plain", "json") is None
    for body in (b"OK", b"{broken", b"\xff"):
        with pytest.raises(Unreadable, match="not JSON"):
            read(body, "application/json", "json")


def test_asked_for_text_it_is_text() -> None:
    assert read(b'{"a": 1}', "application/json", "text") == '{"a": 1}'
    assert read(b"", "application/json", "text") == ""
    assert read("grün".encode("latin-1"), "", "text") == "grün"


def test_asked_for_base64_it_is_base64() -> None:
    assert read(b'{"a": 1}', "application/json", "base64") == "eyJhIjogMX0="
    assert read(b"", "", "base64") == ""


def test_whatever_is_read_can_be_written_again() -> None:
    for body in (bytes(range(256)), b"\xed\xa0\x80", b"\xc0\x80", "\U0001f3e0".encode("utf-16")):
        for media in ("", "text/plain", "text/plain; charset=utf-16", "application/json"):
            written = json.dumps(read(body, media), allow_nan=False, ensure_ascii=False)
            assert written.encode()


@pytest.mark.parametrize(
    ("body", "media", "shown"),
    [
        (b'{"detail": "no"}', "application/json", {"detail": "no"}),
        (b"x" * 2_001, "text/plain", "x" * 2_000 + "…"),
        (b'"' + b"x" * 3_000 + b'"', "application/json", '"' + "x" * 1_999 + "…"),
        (b"\0\1", "image/png", None),
        (b"", "text/plain", None),
        (b"[NaN]", "application/json", "[NaN]"),
    ],
)
def test_an_excerpt_is_short(body: bytes, media: str, shown: Any) -> None:
    assert excerpt(body, media) == shown
