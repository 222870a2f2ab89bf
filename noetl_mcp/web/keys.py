"""Credentials and tokens over the web: names only; what is sealed comes in and never goes out.

The key that signs calls goes out: whoever is called needs it, and it opens nothing.
"""

import os
from datetime import timedelta
from typing import Any

from starlette.responses import Response

from noetl_mcp.broker.tokens import signing_key
from noetl_mcp.catalog.access import LONGEST, Tokens
from noetl_mcp.catalog.credentials import Credentials, credentials_at
from noetl_mcp.catalog.keys import KEY_VARIABLE
from noetl_mcp.starting import seal_of
from noetl_mcp.web.desks import Station
from noetl_mcp.web.faults import Fault, told
from noetl_mcp.web.talk import Door, Talk, needed, whole


async def credentials(talk: Talk) -> Response:
    """List the credentials: names, types and when they were set."""
    talk.query()
    found = await talk.ask(lambda at: _store(talk, at).names())
    return told([{"name": c.name, "type": c.type, "updated_at": c.updated_at} for c in found])


async def set_credential(talk: Talk) -> Response:
    """Store a credential, in place of one that is there."""
    body = await talk.body("type", "fields")
    name, kind = str(talk.request.path_params["name"]), needed(body.get("type"), "type")
    fields = body.get("fields")
    if not isinstance(fields, dict):
        raise Fault(400, "missing", "'fields' must be a JSON object")

    def keep(at: Station) -> None:
        with at.desk.audited(talk.by, "credential set", name, sorted(fields)):
            _store(talk, at, may_make_key=True).set(name, kind, fields)

    await talk.ask(keep)
    return told({"done": True})


async def delete_credential(talk: Talk) -> Response:
    """Remove a credential."""
    name = str(talk.request.path_params["name"])

    def remove(at: Station) -> bool:
        with at.desk.audited(talk.by, "credential delete", name):
            return _store(talk, at).delete(name)

    if not await talk.ask(remove):
        raise Fault(404, "not-found", f"there is no credential '{name[:200]}'")
    return told({"done": True})


async def tokens(talk: Talk) -> Response:
    """List the tokens; none is shown itself."""
    talk.query()
    found = await talk.ask(lambda at: Tokens(at.connection).list())
    return told([one._asdict() for one in found])


async def make_token(talk: Talk) -> Response:
    """Make a token and show it, this once."""
    body = await talk.body("name", "role", "seconds")
    name, role = needed(body.get("name"), "name"), needed(body.get("role"), "role")
    seconds = body.get("seconds")
    lasts = None
    if seconds is not None:
        lasts = timedelta(seconds=whole(seconds, "'seconds'", most=int(LONGEST.total_seconds())))

    def make(at: Station) -> str:
        with at.desk.audited(talk.by, "token create", name, (role,)):
            return Tokens(at.connection).create(name, role, lasts)

    token: Any = await talk.ask(make)
    return told({"name": name, "role": role, "token": token}, 201)


async def revoke_token(talk: Talk) -> Response:
    """Let a token hold no longer."""
    name = str(talk.request.path_params["name"])

    def revoke(at: Station) -> bool:
        with at.desk.audited(talk.by, "token revoke", name):
            return Tokens(at.connection).revoke(name)

    if not await talk.ask(revoke):
        raise Fault(404, "not-found", f"there is no token '{name[:200]}' that holds")
    return told({"done": True})


async def signing(talk: Talk) -> Response:
    """Return the key that signs the calls at the end of executions."""
    talk.query()

    def look(at: Station) -> str:
        with at.desk.audited(talk.by, "signing key", "<key>"):
            return signing_key(seal_of(at.starting.records.seal()))

    return told({"key": await talk.ask(look)})


def _store(talk: Talk, at: Station, *, may_make_key: bool = False) -> Credentials:
    home = talk.desks.home.settings.home
    key = os.environ.get(KEY_VARIABLE)
    return credentials_at(at.connection, home, key, may_make_key=may_make_key)


DOORS = (
    Door("GET", "/api/credentials", "operator", credentials, "List credentials: names only."),
    Door("PUT", "/api/credentials/{name:path}", "admin", set_credential, "Store a credential."),
    Door("DELETE", "/api/credentials/{name:path}", "admin", delete_credential, "Remove one."),
    Door("GET", "/api/tokens", "admin", tokens, "List tokens: names only."),
    Door("POST", "/api/tokens", "admin", make_token, "Make a token; it is shown this once."),
    Door("GET", "/api/signing-key", "admin", signing, "The key that signs calls at the end."),
    Door("DELETE", "/api/tokens/{name}", "admin", revoke_token, "Let a token hold no longer."),
)

__all__ = ["DOORS"]
