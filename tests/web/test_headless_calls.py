"""What is taken for a call by the headless server, and what is refused with a sentence."""

import json
from typing import Any

import pytest

from noetl_mcp.web.headless.calls import Call, WrongCall, answer_to, call_in, order_in


def read(said: Any, path: str | None = None) -> Call:
    return call_in(said if isinstance(said, bytes) else json.dumps(said).encode(), path)


@pytest.mark.parametrize("id_", [0, 1, "a", "", None, 1.5, -7, 2**63 - 1, "ä\u2028\"'"])
def test_an_id_comes_back_as_it_was(id_: Any) -> None:
    call = read({"jsonrpc": "2.0", "id": id_, "method": "get_walls"})

    found = json.loads(answer_to(call, b'{"ok":true}'))

    assert found == {"jsonrpc": "2.0", "id": id_, "result": {"ok": True}}
    assert type(found["id"]) is type(id_)


@pytest.mark.parametrize("said", [{}, {"params": None}, {"params": {}}])
def test_parameters_that_are_missing_are_an_empty_object(said: dict[str, Any]) -> None:
    assert read({"method": "get_walls", **said}) == Call("get_walls", b"{}")


def test_the_method_may_stand_in_the_address_with_no_body_at_all() -> None:
    assert read(b"", "get_walls") == Call("get_walls", b"{}")
    assert read({"params": {"a": 1}}, "get_walls") == Call("get_walls", b'{"a":1}')
    assert read({"method": "get_walls"}, "get_walls").method == "get_walls"


@pytest.mark.parametrize(
    ("raw", "code", "says"),
    [
        (b"", "INVALID_JSON", "not JSON"),
        (b"{", "INVALID_JSON", "not JSON"),
        (b'{"method": "a", "params": {"x": NaN}}', "INVALID_JSON", "not JSON"),
        (b'{"method": "a", "params": {"x": Infinity}}', "INVALID_JSON", "not JSON"),
        (b'{"method": "a", "params": {"x": 1e999}}', "INVALID_JSON", "not JSON"),
        (b'{"method": "\xff"}', "INVALID_JSON", "not JSON"),
        (b'{"method": "\\ud800"}', "INVALID_JSON", "not JSON"),
        (b"[" * 100_000, "INVALID_JSON", "not JSON"),
        (
            b'{"method":"a","params":{"x":' + b"[" * 900 + b"]" * 900 + b"}}",
            "INVALID_JSON",
            "nested too deeply",
        ),
        (b"7", "INVALID_JSONRPC", "must be a JSON object"),
        (b"null", "INVALID_JSONRPC", "must be a JSON object"),
        (b'[{"method": "a"}]', "INVALID_JSONRPC", "a batch is not taken"),
        (b"{}", "INVALID_JSONRPC", "'method' is missing"),
        (b'{"method": null}', "INVALID_JSONRPC", "'method' is missing"),
        (b'{"method": ""}', "INVALID_JSONRPC", "'method' is missing"),
        (b'{"method": 7}', "INVALID_JSONRPC", "'method' must be a text"),
        (b'{"method": "' + b"a" * 501 + b'"}', "INVALID_JSONRPC", "'method' must be a text"),
        (b'{"method": "a", "params": [1]}', "INVALID_JSONRPC", "'params' must be an object"),
        (b'{"method": "a", "params": ""}', "INVALID_JSONRPC", "'params' must be an object"),
        (b'{"method": "a", "jsonrpc": "1.0"}', "INVALID_JSONRPC", "'jsonrpc' must be"),
        (b'{"method": "a", "id": true}', "INVALID_JSONRPC", "'id' must be"),
        (b'{"method": "a", "id": [1]}', "INVALID_JSONRPC", "'id' must be"),
        (b'{"method": "a", "id": 98765432109876543210}', "INVALID_JSONRPC", "send a text"),
        (b'{"method": "a", "id": "' + b"i" * 501 + b'"}', "INVALID_JSONRPC", "'id' has at most"),
    ],
)
def test_what_is_no_call_is_refused_with_a_sentence(raw: bytes, code: str, says: str) -> None:
    with pytest.raises(WrongCall, match=says) as refused:
        call_in(raw)

    assert refused.value.code == code


def test_two_methods_in_one_request_are_refused() -> None:
    with pytest.raises(WrongCall, match="and the body another, 'get_doors'"):
        read({"method": "get_doors"}, "get_walls")


def test_an_order_says_when_its_turn_is_and_what_it_is_known_by() -> None:
    plain = order_in(b'{"method": "a"}')
    full = order_in(b'{"method":"a","id":3,"priority":-1,"timeoutSec":2.5,"idempotencyKey":"k"}')

    assert (plain.priority, plain.timeout, plain.key) == (100, 60, None)
    assert (full.priority, full.timeout, full.key, full.call.id) == (-1, 2.5, "k", 3)


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        ('"priority": "1"', "INVALID_JSONRPC", "'priority' must be a whole number"),
        ('"priority": true', "INVALID_JSONRPC", "'priority' must be a whole number"),
        ('"priority": 1.5', "INVALID_JSONRPC", "'priority' must be a whole number"),
        ('"priority": 9999999', "INVALID_JSONRPC", "'priority' must be from"),
        ('"timeoutSec": 0', "INVALID_JSONRPC", "'timeoutSec' must be"),
        ('"timeoutSec": "1"', "INVALID_JSONRPC", "'timeoutSec' must be"),
        ('"timeoutSec": true', "INVALID_JSONRPC", "'timeoutSec' must be"),
        ('"idempotencyKey": ""', "INVALID_JSONRPC", "'idempotencyKey' must be"),
        ('"idempotencyKey": 7', "INVALID_JSONRPC", "'idempotencyKey' must be"),
        ('"method": ""', "E_NO_METHOD", "'method' is missing"),
    ],
)
def test_an_order_that_cannot_be_meant_is_refused(more: str, code: str, says: str) -> None:
    with pytest.raises(WrongCall, match=says) as refused:
        order_in(f'{{"method": "a", {more}}}'.encode())

    assert refused.value.code == code


def test_the_order_of_names_makes_no_other_call() -> None:
    one = read(b'{"method": "a", "params": {"x": 1, "y": {"a": [2], "b": 3}}}')
    other = read(b'{"method": "a", "params": {"y": {"b": 3, "a": [2]}, "x": 1}}')

    assert one == other
