"""Tokens of OAuth2 client credentials: got once, kept, renewed, and told to nobody."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import pytest

from noetl_mcp.catalog.credential_types import problem_of
from noetl_mcp.playbook.rendering.secret import MASK
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.http_request import Allowed
from noetl_mcp.worker.masks import secrets_of
from tests.tasks.http_calls import call
from tests.wire.servers import Line, Seen, answer, free_port, serving

SECRET = "s3cret/with+signs"
TOKENS = ("first-token", "second-token", "third-token")


@dataclass
class Guarded:
    """A server with a token endpoint; it takes only the token that it gave last."""

    says: dict[str, Any] = field(default_factory=lambda: {"expires_in": 3600})
    status: str = "200 OK"
    given: int = 0
    wait: float = 0.0
    seen: list[Seen] = field(default_factory=list)
    takes: Callable[[str], bool] = lambda token: True

    async def __call__(self, line: Line) -> None:
        while True:
            asked = await line.request()
            self.seen.append(asked)
            if asked.target.startswith("/token"):
                await asyncio.sleep(self.wait)
                token = {"access_token": TOKENS[self.given], "token_type": "Bearer", **self.says}
                self.given += 1
                await line.say(answer(json.dumps(token).encode(), status=self.status))
            else:
                token_ = asked.headers.get("authorization", "").removeprefix("Bearer ")
                fits = token_ == TOKENS[self.given - 1] and self.takes(token_)
                body = json.dumps({"you sent": token_}).encode()
                await line.say(answer(body, status="200 OK" if fits else "401 Unauthorized"))

    def asked(self, start: str) -> list[Seen]:
        return [one for one in self.seen if one.target.startswith(start)]


def do(guarded: Guarded, *calls: dict[str, Any], at_once: bool = False, **auth: Any) -> list[Any]:
    """Make calls one after another, or at once, with one task; return answers and failures."""

    async def work() -> list[Any]:
        async with serving(guarded) as server:
            task = Http()
            given = {
                "type": "oauth2",
                "token_url": f"{server.url}/token",
                "client_id": "me",
                "client_secret": SECRET,
                **auth,
            }

            async def one(settings: dict[str, Any]) -> Any:
                try:
                    return await task.execute(
                        call(f"{server.url}/a", _auth={"": given}, **settings)
                    )
                except Failed as failed:
                    return failed

            try:
                if at_once:
                    return list(await asyncio.gather(*map(one, calls)))
                return [await one(settings) for settings in calls]
            finally:
                await task.close()

    return asyncio.run(work())


def test_a_token_is_got_first_and_used() -> None:
    guarded = Guarded()

    (found,) = do(guarded, {}, scope="rooms doors", audience="cde")

    (asked,) = guarded.asked("/token")
    known = b64encode(b"me:s3cret%2Fwith%2Bsigns").decode()
    assert asked.method == "POST"
    assert asked.headers["authorization"] == f"Basic {known}"
    assert parse_qs(asked.body.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["rooms doors"],
        "audience": ["cde"],
    }
    assert found["status_code"] == 200


def test_the_client_can_be_named_in_the_body() -> None:
    guarded = Guarded()

    do(guarded, {}, send="body")

    (asked,) = guarded.asked("/token")
    assert "authorization" not in asked.headers
    assert parse_qs(asked.body.decode())["client_secret"] == [SECRET]


def test_a_token_is_kept_until_it_ends() -> None:
    guarded = Guarded()

    found = do(guarded, {}, {}, {"method": "POST"})

    assert [one["status_code"] for one in found] == [200, 200, 200]
    assert len(guarded.asked("/token")) == 1


def test_many_calls_at_once_ask_for_one_token() -> None:
    guarded = Guarded(wait=0.05)

    found = do(guarded, *[{} for _ in range(20)], at_once=True)

    assert {one["status_code"] for one in found} == {200}
    assert len(guarded.asked("/token")) == 1


def test_a_token_that_has_ended_is_got_anew() -> None:
    guarded = Guarded(says={"expires_in": "0"})

    found = do(guarded, {}, {})

    assert [one["status_code"] for one in found] == [200, 200]
    assert len(guarded.asked("/token")) == 2


def test_a_read_with_a_kept_token_that_is_refused_is_sent_once_more() -> None:
    guarded = Guarded()
    guarded.takes = lambda token: token != TOKENS[0] or len(guarded.asked("/a")) == 1

    found = do(guarded, {}, {})

    assert [one["status_code"] for one in found] == [200, 200]
    assert len(guarded.asked("/a")) == 3


def test_a_read_with_a_fresh_token_that_is_refused_fails() -> None:
    guarded = Guarded(takes=lambda token: False)

    (failed,) = do(guarded, {})

    assert isinstance(failed, Failed)
    assert (failed.code, failed.retriable) == ("http-status", False)
    assert len(guarded.asked("/a")) == 1


def test_a_write_is_not_sent_again_but_its_next_attempt_has_a_fresh_token() -> None:
    guarded = Guarded()
    guarded.takes = lambda token: token != TOKENS[0] or len(guarded.asked("/a")) == 1
    post = {"method": "POST"}

    first, refused, again = do(guarded, post, post, post)

    assert first["status_code"] == again["status_code"] == 200
    assert isinstance(refused, Failed)
    assert refused.retriable
    assert len(guarded.asked("/a")) == 3


def test_two_clients_have_tokens_of_their_own() -> None:
    guarded = Guarded()

    async def work() -> None:
        async with serving(guarded) as server:
            task = Http()
            for client in ("me", "you"):
                auth = {
                    "type": "oauth2",
                    "token_url": f"{server.url}/token",
                    "client_id": client,
                    "client_secret": SECRET,
                }
                await task.execute(call(f"{server.url}/a", _auth={"": auth}))
            await task.close()

    asyncio.run(work())

    assert len(guarded.asked("/token")) == 2


def test_neither_token_nor_secret_is_told() -> None:
    echoed = {"error": "invalid_client", "error_description": f"not {SECRET}"}

    (found,) = do(Guarded(), {})
    (failed,) = do(Guarded(says=echoed, status="401 Unauthorized"), {})

    assert found["data"] == {"you sent": MASK}
    assert SECRET not in f"{failed.message} {failed.details}"
    assert "invalid_client" in failed.message


@pytest.mark.parametrize(
    ("status", "retriable"), [("400 Bad Request", False), ("503 Service Unavailable", True)]
)
def test_a_token_server_that_refuses_fails_the_step_for_certain(
    status: str, retriable: bool
) -> None:
    guarded = Guarded(status=status)

    (failed,) = do(guarded, {"method": "POST"})

    assert isinstance(failed, Failed)
    assert (failed.code, failed.retriable) == ("no-token", retriable)
    assert "the credential gives no token: http://127.0.0.1" in failed.message
    assert f"answered {status[:3]}" in failed.message
    assert guarded.asked("/a") == []


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ({"access_token": None}, "gave no 'access_token'"),
        ({"token_type": "mac"}, "gave a token of type 'mac'"),
    ],
)
def test_an_answer_without_a_token_is_told(says: dict[str, Any], words: str) -> None:
    (failed,) = do(Guarded(says=says), {})

    assert words in failed.message
    assert not failed.retriable


def test_a_token_server_that_is_away_may_be_back_later() -> None:
    (failed,) = do(Guarded(), {}, token_url=f"http://127.0.0.1:{free_port()}/token")

    assert (failed.code, failed.retriable) == ("no-token", True)


@pytest.mark.parametrize("missing", ["token_url", "client_id", "client_secret"])
def test_what_is_missing_is_named(missing: str) -> None:
    nothing: dict[str, Any] = {missing: ""}

    (failed,) = do(Guarded(), {}, **nothing)

    assert failed.message == f"the credential of type 'oauth2' needs '{missing}'"
    kept = {"token_url": "u", "client_id": "c", "client_secret": "s"}
    del kept[missing]
    assert missing in str(problem_of("oauth2", kept))


def test_only_the_secret_of_a_client_is_looked_for_in_results() -> None:
    stored = {
        "type": "oauth2",
        "token_url": "https://id.example/token",
        "client_id": "planner",
        "client_secret": SECRET,
        "scope": "rooms",
        "send": "body",
    }

    assert set(secrets_of(stored)) == {SECRET}


def test_a_token_server_must_be_an_allowed_one() -> None:
    async def work() -> str:
        async with serving(Guarded()) as server:
            task = Http(allowed=Allowed(servers=("api.example",)))
            auth = {
                "type": "oauth2",
                "token_url": f"{server.url}/token",
                "client_id": "me",
                "client_secret": SECRET,
            }
            with pytest.raises(Failed) as told:
                await task.execute(call("http://api.example/", _auth={"": auth}))
            await task.close()
            return told.value.message

    assert "is not among the allowed servers" in asyncio.run(work())
