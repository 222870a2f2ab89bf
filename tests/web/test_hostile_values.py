"""Whatever is sent, the answer says what is wrong with it and is never a breakdown."""

import json
import random
import string
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from noetl_mcp.web.app import DOORS
from tests.web.site import ASKING, CALLING, HELLO, Site

HUGE = "k" * 40_000
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 2**31, 2**63, 2**64, 1e308, [], {}, ["a"], [["a"]], [None]),
    *(
        "",
        " ",
        "0",
        "--5",
        "-5",
        "٣",
        "1e3",
        "99999999999",
        "9" * 19,
        "9" * 5_000,
        "a\0b",
        "\ud7ff",
    ),
    *(
        "a=1",
        "a.b=1",
        "." * 2_000 + "a=1",
        "each[0]",
        "each[" + "9" * 5_000 + "]",
        "ask[1]",
        "ask[" + "9" * 5_000 + "]",
    ),
    *("$", "%", "'", "\\", "../../x", "k" * 3_000, "{{ 1 / 0 }}", "\x85"),
    *({"a": 1}, {"": ""}, {"a\0": "b"}, {"a": "b\0"}),
]
FIELDS = [
    *("path", "content", "version", "payload", "key", "priority", "labels", "on_end", "set"),
    *("executions", "reason", "force", "from", "confirm_writes", "step", "how", "value", "lease"),
    *("approved", "comment", "name", "role", "seconds", "type", "fields"),
]
PARAMETERS = [
    *("status", "path", "label", "parent", "roots", "before", "limit", "items", "step", "after"),
    *("kind", "execution", "version", "against"),
]


def told(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("number", ["--5", "-5", "0", "٣", "1" * 20, "9" * 5_000, "5%00", "1.0"])
def test_what_is_no_number_of_an_execution_is_refused(site: Site, number: str) -> None:
    assert told(site.client.get(f"/api/executions/{number}")) == (400, "wrong-value")


@pytest.mark.parametrize(
    "address",
    [
        "/api/callbacks/a%00b",
        "/api/catalog/a%00b",
        "/api/executions?path=a%00b",
        "/api/executions?label=a%3D%00",
        "/api/executions/1/events?step=%00",
        "/api/executions/1/steps/%00",
        "/nowhere/%00",
    ],
)
def test_a_nul_character_in_an_address_is_refused_at_the_door(site: Site, address: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        assert told(site.client.request(method, address)) == (400, "wrong-value")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"path": "a\0"}, "$.path"),
        ({"path": "a", "payload": {"b": [1, {"c": "\0"}]}}, "$.payload.b[1].c"),
        ({"path": "a", "labels": {"a\0": "b"}}, "$.labels"),
        ({"path": "a", "key": "\0"}, "$.key"),
    ],
)
def test_a_nul_character_in_a_body_is_refused_with_its_place(
    site: Site, body: dict[str, Any], place: str
) -> None:
    refused = site.post("/api/executions", body, 400)["error"]

    assert refused["message"] == f"the body holds a NUL character, at '{place}'"


def test_a_text_that_only_speaks_of_nul_is_taken(site: Site) -> None:
    number = site.start(HELLO, labels={"says": "\\u0000"})

    assert site.get(f"/api/executions/{number}")["labels"] == {"says": "\\u0000"}


def test_numbers_beyond_those_of_the_database_are_refused(site: Site) -> None:
    site.post("/api/catalog", {"content": HELLO}, 201)

    for query in ("version=99999999999", "version=2147483648", "against=99999999999"):
        assert told(site.client.get(f"/api/catalog/tests/t?{query}")) == (400, "wrong-value")
    site.post("/api/executions", {"path": "tests/t", "version": 2**31}, 400)
    site.post("/api/executions", {"path": "tests/t", "version": 2**31 - 1}, 404)


def test_a_key_may_be_long_and_not_too_long(site: Site) -> None:
    site.start(HELLO, key="k" * 500)

    refused = site.post("/api/executions", {"content": HELLO, "key": HUGE}, 400)

    assert "500" in refused["error"]["message"]


def test_a_value_set_too_deep_is_refused(site: Site) -> None:
    number = site.start(HELLO)
    deep = [".".join("a" * 3_000) + "=1"]

    for where in ("/api/executions", f"/api/executions/{number}/rerun"):
        body = {"content": HELLO} if where == "/api/executions" else {}
        refused = site.post(where, {**body, "set": deep}, 400)
        assert "levels deep" in refused["error"]["message"]


def test_a_step_with_a_number_beyond_all_items_is_refused(site: Site) -> None:
    number, step = site.start(ASKING), f"ask[{'9' * 5_000}]"
    where = f"/api/executions/{number}"

    assert told(site.client.get(f"{where}/steps/{step}")) == (400, "wrong-value")
    assert told(site.client.get(f"{where}/why", params={"step": step})) == (400, "wrong-value")
    site.post(f"{where}/approve", {"step": step}, 400)
    site.post(f"{where}/retry", {"from": step}, 400)
    site.post(f"{where}/retry", {"confirm_writes": [step]}, 400)


def test_names_that_the_database_cannot_keep_are_refused(site: Site) -> None:
    fields = {"type": "bearer", "fields": {"token": "x"}}

    kept = site.client.put(f"/api/credentials/{HUGE}", json=fields)

    assert kept.status_code in (400, 422)


def test_no_request_breaks_anything(site: Site) -> None:
    number = site.start(ASKING, key="taken")
    other = site.start(CALLING)
    site.work()
    chance = random.Random(7)
    broken = []
    for _ in range(1_500):
        door = chance.choice(DOORS)
        path = door.path.replace(":path", "")
        for name in ("number", "step", "path", "name", "token"):
            path = path.replace(f"{{{name}}}", part(chance, number, other))
        query = [
            (chance.choice(PARAMETERS), plain(chance)) for _ in range(chance.choice((0, 0, 1, 2)))
        ]
        method = door.method if chance.random() < 0.95 else chance.choice(("GET", "PUT", "HEAD"))
        answer = site.client.request(
            method,
            f"{path}?{urlencode(query)}",
            content=body(chance) if method in ("POST", "PUT", "DELETE") else None,
            headers={"Content-Type": "application/json"},
        )
        if answer.status_code >= 500:
            broken.append((method, path[:200], query, answer.text[:200]))

    assert broken == []
    assert site.client.get("/health").status_code == 200


def part(chance: random.Random, *numbers: str) -> str:
    """Return one part of a path: an execution that is there, a step, or anything."""
    if chance.random() < 0.6:
        return chance.choice([*numbers, "ask", "call", "tests/t"])
    return quote(plain(chance), safe="") or "x"


def plain(chance: random.Random) -> str:
    one = chance.choice(ODD)
    if chance.random() < 0.1:
        return "".join(chance.choices(string.printable, k=20))
    return one if isinstance(one, str) else json.dumps(one)


def body(chance: random.Random) -> bytes:
    if chance.random() < 0.05:
        return chance.choice(
            [b"", b"{", b"[" * 5_000, b"null", b'"\\ud800"', b"\xff", b"NaN", b"1"]
        )
    names = chance.sample(FIELDS, chance.choice((0, 1, 1, 2, 3)))
    made = {name: chance.choice(ODD) for name in names}
    for name, likely in (("step", "ask"), ("content", HELLO), ("name", "x"), ("role", "viewer")):
        if name in made and chance.random() < 0.7:
            made[name] = likely
    return json.dumps(made).encode()
