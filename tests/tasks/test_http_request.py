"""What an http step sends: query, headers, body and credentials."""

import math
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.credentials import known_by
from noetl_mcp.tasks.http_request import Allowed, request_of
from noetl_mcp.wire.exchange import Part, Request, Way
from tests.tasks.http_calls import call, do
from tests.wire.servers import Seen, answer, answering

ANYTHING = Allowed()


def made(given: Any = None, allowed: Allowed = ANYTHING, **settings: Any) -> Request:
    one = call(given=given, **settings)
    return request_of(one, known_by(one.auth), allowed)


def sent(given: Any = None, path: str = "/", **settings: Any) -> Seen:
    """Return the request as a server saw it."""
    _, server = do(answering(answer()), path, given, **settings)
    return server.seen[0]


def headers_of(request: Request) -> dict[str, str]:
    return dict(request.headers)


@pytest.mark.parametrize(
    ("params", "query"),
    [
        ({"a": 1, "b": "x y&z"}, "a=1&b=x%20y%26z"),
        ({"a": True, "b": None, "c": 1.5, "d": "ü/"}, "a=true&c=1.5&d=%C3%BC%2F"),
        ({"a": [1, 2, None], "b": []}, "a=1&a=2"),
        ([["a", 2], ["a", 1], ["b", "c"]], "a=2&a=1&b=c"),
        ("a=%2F&b", "a=%2F&b"),
        ("?a=1", "a=1"),
        ({}, ""),
        ("", ""),
    ],
)
def test_a_query_is_a_map_a_list_of_pairs_or_a_text(params: Any, query: str) -> None:
    assert made(params=params).url.partition("?")[2] == query


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("http://a/", "http://a/?x=1"),
        ("http://a", "http://a?x=1"),
        ("http://a/?b=2", "http://a/?b=2&x=1"),
        ("http://a/?", "http://a/?x=1"),
        ("http://a/?b=2&#part", "http://a/?b=2&x=1"),
    ],
)
def test_a_query_is_added_to_that_of_the_url(url: str, whole: str) -> None:
    assert made(url=url, params={"x": 1}).url == whole


@pytest.mark.parametrize("query", [{"a": {"b": 1}}, {"a": [[1]]}, [1, 2], [["a"]], 7])
def test_what_no_query_can_hold_is_refused(query: Any) -> None:
    with pytest.raises(Failed) as told:
        made(query)

    assert (told.value.code, told.value.retriable) == ("bad-query", False)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_the_input_is_the_query_where_there_is_no_body(method: str) -> None:
    request = made({"mark": "D-1"}, method=method)

    assert request.url == "http://127.0.0.1/?mark=D-1"
    assert request.content == b""


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize("given", [{"a": [1, None]}, [1], 0, "text", False])
def test_the_input_is_the_body_of_what_has_one(method: str, given: Any) -> None:
    seen = sent(given, method=method)

    assert seen.headers["content-type"] == "application/json"
    assert seen.target == "/"
    assert seen.body in (b'{"a":[1,null]}', b"[1]", b"0", b'"text"', b"false")


def test_the_input_is_not_sent_where_the_settings_say_what_is() -> None:
    assert made({"x": 1}, params={"a": 1}).url.endswith("/?a=1")
    assert made({"x": 1}, method="DELETE", json={"a": 1}).url.endswith("/")
    assert made({"x": 1}, method="POST", json={"a": 1}).content == b'{"a":1}'
    assert made({"x": 1}, method="POST", body="").content == b""


def test_the_input_is_the_body_also_beside_a_query() -> None:
    request = made({"x": 1}, method="POST", params={"a": 1})

    assert (request.url, request.content) == ("http://127.0.0.1/?a=1", b'{"x":1}')


@pytest.mark.parametrize("given", [None, {}])
def test_no_input_is_no_body(given: Any) -> None:
    seen = sent(given, method="POST")

    assert (seen.body, seen.headers["content-length"]) == (b"", "0")
    assert "content-type" not in seen.headers


@pytest.mark.parametrize(
    ("settings", "media", "body"),
    [
        ({"json": {"a": "ü"}}, "application/json", '{"a":"ü"}'),
        ({"json": []}, "application/json", "[]"),
        ({"json": "{{"}, "application/json", '"{{"'),
        ({"form": {"a": "x y", "b": [1, 2], "c": None}}, None, "a=x%20y&b=1&b=2"),
        ({"body": "ü\n"}, "text/plain; charset=utf-8", "ü\n"),
        ({"body": "<a/>", "headers": {"content-TYPE": "text/xml"}}, "text/xml", "<a/>"),
    ],
)
def test_a_body_is_json_a_form_or_a_text(
    settings: dict[str, Any], media: str | None, body: str
) -> None:
    seen = sent(method="POST", **settings)

    assert seen.headers["content-type"] == (media or "application/x-www-form-urlencoded")
    assert seen.body.decode() == body


@pytest.mark.parametrize(
    "settings",
    [
        {"json": {"a": math.nan}},
        {"json": [math.inf, None]},
        {"json": 2**70},
        {"json": "\ud800"},
        {"body": "\ud800"},
        {"form": {"a": {"b": 1}}},
    ],
)
def test_a_body_that_cannot_be_written_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(Failed) as told:
        made(method="POST", **settings)

    assert told.value.code in ("bad-body", "bad-form")
    assert not told.value.retriable


def test_null_is_written_as_null() -> None:
    assert made(method="POST", json={"a": None, "b": "null"}).content == b'{"a":null,"b":"null"}'


def test_headers_are_texts_numbers_and_flags() -> None:
    request = made(headers={"X-Text": "a", "X-Number": 3, "X-Flag": False})

    assert headers_of(request) == {"X-Text": "a", "X-Number": "3", "X-Flag": "false"}


def test_a_header_with_a_line_end_fails_and_nothing_is_sent() -> None:
    with pytest.raises(Failed) as told:
        sent(headers={"X-A": "s3cret\r\nX-B: c"})

    assert (told.value.code, told.value.retriable) == ("bad-header", False)
    assert "s3cret" not in told.value.message


def test_the_key_can_be_named_chosen_and_left_out() -> None:
    def keys(**settings: Any) -> dict[str, str]:
        return headers_of(made(method="POST", **settings))

    assert keys() == {"Idempotency-Key": "key-1"}
    assert keys(idempotency_header="X-Request-Id") == {"X-Request-Id": "key-1"}
    assert keys(idempotency_key="order-7") == {"Idempotency-Key": "order-7"}
    assert keys(headers={"idempotency-key": "mine"}) == {"idempotency-key": "mine"}
    assert keys(idempotency_header="") == {}
    assert keys(_key="") == {}
    assert headers_of(made(idempotency_key="k")) == {"Idempotency-Key": "k"}


def test_every_setting_of_the_connection_is_honoured() -> None:
    request = made(
        verify_tls=False,
        ca_file="ca.pem",
        client_cert="c.pem",
        client_key="k.pem",
        proxy="http://proxy:3128",
        connect_timeout="3s",
        max_response_bytes=10,
        max_redirects=2,
        _timeout=7.5,
    )

    assert request.way == Way(False, "ca.pem", "c.pem", "k.pem", "http://proxy:3128")
    assert (request.connect_timeout, request.timeout) == (3.0, 7.5)
    assert (request.max_bytes, request.redirects) == (10, 2)


def test_a_step_without_a_timeout_has_a_bound_all_the_same() -> None:
    assert made().timeout == 300


def test_a_write_follows_no_redirect_whatever_it_says() -> None:
    assert made(method="POST", follow_redirects=True).redirects == 0
    assert made(method="POST", _writes=False).redirects == 10
    assert made(follow_redirects=False).redirects == 0


def test_files_go_as_a_multipart_form(tmp_path: Path) -> None:
    model = tmp_path / "tower.ifc"
    model.write_text("ISO-10303-21;")
    files = {
        "model": str(model),
        "note": {"content": "für", "content_type": "text/plain"},
        "raw": {"content_b64": "AAE=", "filename": "raw.bin"},
    }

    seen = sent(method="POST", files=files, form={"name": "Tower", "tags": ["a", "b"]})

    assert seen.headers["content-type"].startswith("multipart/form-data; boundary=")
    for piece in (
        b'name="name"\r\n\r\nTower\r\n',
        b'name="tags"\r\n\r\na\r\n',
        b'name="tags"\r\n\r\nb\r\n',
        b'name="model"; filename="tower.ifc"\r\n',
        b"ISO-10303-21;\r\n",
        b'name="note"; filename="note"\r\nContent-Type: text/plain\r\n\r\nf\xc3\xbcr\r\n',
        b'name="raw"; filename="raw.bin"\r\n',
        b"\r\n\r\n\x00\x01\r\n",
    ):
        assert piece in seen.body


def test_a_multipart_type_without_its_boundary_is_replaced() -> None:
    headers = {"Content-Type": "multipart/form-data"}

    seen = sent(method="POST", files={"a": {"content": "b"}}, headers=headers)

    assert "boundary=" in seen.headers["content-type"]


def test_a_file_that_is_missing_fails_before_anything_is_sent(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="cannot read") as told:
        sent(method="POST", files={"a": str(tmp_path / "none")})

    assert (told.value.code, told.value.retriable) == ("bad-file", False)


def test_files_come_from_allowed_folders_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.write_text("s3cret")
    (inside / "link").symlink_to(outside)
    allowed = Allowed(folders=(inside,))

    for path in (outside, inside / ".." / "out", inside / "link"):
        with pytest.raises(Failed) as told:
            made(None, allowed, method="POST", files={"a": str(path)})
        assert told.value.code == "not-allowed"
    fine = made(None, allowed, method="POST", files={"a": str(inside / "b")})

    assert fine.parts == (Part("a", inside / "b", "b"),)


@pytest.mark.parametrize(
    ("pattern", "url", "reached"),
    [
        ("api.example", "https://api.example/x", True),
        ("api.example", "https://API.example:8443/x", True),
        ("api.example:443", "https://api.example/x", True),
        ("api.example:443", "http://api.example/x", False),
        ("*.example", "http://a.b.example", True),
        ("*.example", "http://example", False),
        ("*.example", "http://evil/?.example", False),
        ("*.example", "http://a.example@evil/", False),
        ("[::1]", "http://[::1/", False),
    ],
)
def test_a_server_is_allowed_by_name_and_port(pattern: str, url: str, reached: bool) -> None:
    assert Allowed(servers=(pattern,)).reaches(url) is reached
    assert not Allowed(servers=()).reaches(url)
