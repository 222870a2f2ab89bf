"""What stored credentials add to a request."""

from typing import Any

import pytest

from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.credentials import known_by
from tests.tasks.http_calls import do
from tests.wire.servers import answer, answering

BASIC = "Basic bWU6cHc="


@pytest.mark.parametrize(
    ("credential", "header"),
    [
        ({"type": "bearer", "token": "t"}, ("Authorization", "Bearer t")),
        ({"service": "Bearer", "access_token": " t\n"}, ("Authorization", "Bearer t")),
        ({"type": "basic", "username": "me", "password": "pw"}, ("Authorization", BASIC)),
        ({"type": "basic", "user": "me", "password": "pw"}, ("Authorization", BASIC)),
        ({"type": "basic", "user": "me"}, ("Authorization", "Basic bWU6")),
        ({"type": "api_key", "key": "k"}, ("X-API-Key", "k")),
        ({"type": "api-key", "value": 12, "header": "X-K"}, ("X-K", "12")),
        ({"type": "apikey", "key": "k", "name": "X-K", "in": "header"}, ("X-K", "k")),
        ({"type": "header", "name": "X-Me", "value": "v"}, ("X-Me", "v")),
    ],
)
def test_a_credential_becomes_a_header(credential: Any, header: tuple[str, str]) -> None:
    assert known_by({"": credential}).headers == (header,)


@pytest.mark.parametrize(
    ("credential", "pair"),
    [
        ({"type": "api_key", "key": "k", "query": "apikey"}, ("apikey", "k")),
        ({"type": "api_key", "key": "k", "in": "query", "name": "sig"}, ("sig", "k")),
        ({"type": "api_key", "key": "k", "in": "query"}, ("api_key", "k")),
    ],
)
def test_a_key_can_stand_in_the_query(credential: Any, pair: tuple[str, str]) -> None:
    known = known_by({"": credential})

    assert known.query == (pair,)
    assert known.headers == ()


def test_several_credentials_are_used_together() -> None:
    auth = {
        "gate": {"type": "api_key", "key": "k"},
        "user": {"type": "basic", "username": "me", "password": "pw"},
    }

    _, server = do(answering(answer()), _auth=auth)

    assert server.seen[0].headers["x-api-key"] == "k"
    assert server.seen[0].headers["authorization"] == BASIC


@pytest.mark.parametrize(
    ("auth", "words"),
    [
        (
            {"a": {"type": "hmac", "key": "s3cret"}},
            "'a' has the type 'hmac'; a request takes bearer",
        ),
        ({"": {"token": "s3cret"}}, "the credential has no type"),
        ({"a": {"type": "bearer"}}, "'a' of type 'bearer' needs 'token'"),
        ({"a": {"type": "bearer", "token": ""}}, "needs 'token'"),
        ({"a": {"type": "header", "value": "s3cret"}}, "needs 'name'"),
        ({"a": {"type": "basic", "username": "a:s3cret"}}, "must not hold a colon"),
        (
            {"a": {"type": "bearer", "token": "s3cret"}, "b": {"type": "basic", "user": "x"}},
            "two credentials of the step set the header 'authorization'",
        ),
    ],
)
def test_a_credential_that_cannot_be_used_says_why_and_not_what(auth: Any, words: str) -> None:
    with pytest.raises(Failed) as told:
        known_by(auth)

    assert words in told.value.message
    assert "s3cret" not in told.value.message
    assert (told.value.code, told.value.retriable) == ("bad-auth", False)


def test_a_credential_and_a_header_do_not_fight() -> None:
    auth = {"": {"type": "bearer", "token": "t"}}

    with pytest.raises(Failed, match="both 'auth' and 'headers' set 'Authorization'"):
        do(answering(answer()), headers={"authorization": "Bearer other"}, _auth=auth)


def test_what_is_known_is_not_printed() -> None:
    known = known_by({"a": {"type": "bearer", "token": "s3cret"}})

    assert "s3cret" not in repr(known)
