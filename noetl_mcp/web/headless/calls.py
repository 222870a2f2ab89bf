"""Read what a client asks for: a JSON-RPC call, or an order to do one later. Does neither.

What real clients leave out is added: the version, the parameters, the id. What could be understood
in two ways is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from noetl_mcp.cuts import beginning

INVALID_JSON = "INVALID_JSON"
INVALID_JSONRPC = "INVALID_JSONRPC"
NO_METHOD = "E_NO_METHOD"
MOST_NAME = 500
"""Characters of a method, of an id, of an idempotency key."""
PRIORITY = 100
TIMEOUT = 60
_MOST_PRIORITY = 1_000_000
_MOST_WHOLE = 2.0**63
Id = str | int | float | None


class WrongCall(Exception):
    """What was sent is no call; the text says why."""

    def __init__(self, code: str, says: str) -> None:
        super().__init__(says)
        self.code = code


@dataclass(frozen=True, slots=True)
class Call:
    """One method with its parameters, as JSON text by their names: nobody else can change them."""

    method: str
    params: bytes
    id: Id = None


@dataclass(frozen=True, slots=True)
class Order:
    """A call, when its turn is, and under which name it is known to who sent it."""

    call: Call
    priority: int = PRIORITY
    timeout: float = TIMEOUT
    key: str | None = None

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return len(self.call.params)


def call_in(raw: bytes, path: str | None = None) -> Call:
    """Return the call in a body; `path` is the method that the address names."""
    return _call(_object(raw, empty=path is not None), path, INVALID_JSONRPC)


def order_in(raw: bytes) -> Order:
    """Return the order in a body."""
    said = _object(raw)
    call = _call(said, None, NO_METHOD)
    priority = said.get("priority", PRIORITY)
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise _wrong("'priority' must be a whole number; lower ones have their turn first")
    if abs(priority) > _MOST_PRIORITY:
        raise _wrong(f"'priority' must be from -{_MOST_PRIORITY:,} to {_MOST_PRIORITY:,}")
    timeout = said.get("timeoutSec", TIMEOUT)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        raise _wrong("'timeoutSec' must be a number above 0")
    key = said.get("idempotencyKey")
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= MOST_NAME):
        raise _wrong(f"'idempotencyKey' must be a text of at most {MOST_NAME} characters")
    return Order(call, priority, timeout, key)


def same(one: Call, other: Call) -> bool:
    """Whether two calls ask for the same; the order of names does not matter."""
    return one.method == other.method and one.params == other.params


def answer_to(call: Call, payload: bytes) -> bytes:
    """Return the text that answers a call."""
    id_ = orjson.dumps(call.id)
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"result":' + payload + b"}"


def _object(raw: bytes, *, empty: bool = False) -> Mapping[str, Any]:
    if empty and not raw.strip():
        return {}
    try:
        said = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise WrongCall(INVALID_JSON, f"the body is not JSON: {problem}") from None
    if isinstance(said, list):
        raise _wrong("a batch is not taken; send one call in each request")
    if not isinstance(said, dict):
        raise _wrong("the body must be a JSON object with 'method' and 'params'")
    return said


def _call(said: Mapping[str, Any], path: str | None, without_method: str) -> Call:
    if said.get("jsonrpc", "2.0") != "2.0":
        raise _wrong("'jsonrpc' must be \"2.0\"")
    method = said.get("method", path)
    if method is None or method == "":
        raise WrongCall(without_method, "'method' is missing: say which one is called")
    if not isinstance(method, str) or len(method) > MOST_NAME:
        raise _wrong(f"'method' must be a text of at most {MOST_NAME} characters")
    if path is not None and path != method:
        shown = beginning(method, 80)
        raise _wrong(f"the address names one method, and the body another, '{shown}'")
    params = said.get("params")
    if params is not None and not isinstance(params, dict):
        raise _wrong("'params' must be an object: parameters have names")
    try:
        text = orjson.dumps(params or {}, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        raise WrongCall(INVALID_JSON, "'params' is nested too deeply") from None
    return Call(method, text, _id(said.get("id")))


def _id(said: Any) -> Id:
    """Return an id that can be given back as it came."""
    if isinstance(said, str) and len(said) > MOST_NAME:
        raise _wrong(f"'id' has at most {MOST_NAME} characters")
    if isinstance(said, bool) or not (said is None or isinstance(said, str | int | float)):
        raise _wrong("'id' must be a text, a number or null")
    if isinstance(said, float) and abs(said) >= _MOST_WHOLE:
        raise _wrong("'id' is too large a number to be given back as it came; send a text")
    return said


def _wrong(says: str) -> WrongCall:
    return WrongCall(INVALID_JSONRPC, says)


__all__ = [
    "INVALID_JSON",
    "INVALID_JSONRPC",
    "MOST_NAME",
    "NO_METHOD",
    "PRIORITY",
    "TIMEOUT",
    "Call",
    "Id",
    "Order",
    "WrongCall",
    "answer_to",
    "call_in",
    "order_in",
    "same",
]
