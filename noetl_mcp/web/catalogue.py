"""The catalog over the web: list, read, compare and submit playbooks."""

import difflib
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from noetl_mcp.catalog.catalog import Catalog, Entry, Kept
from noetl_mcp.diagnostics import closest
from noetl_mcp.playbook.load import load
from noetl_mcp.web.desks import Station
from noetl_mcp.web.faults import Fault, told
from noetl_mcp.web.talk import MOST_BODY, Door, Talk, needed, version_of


async def list_all(talk: Talk) -> Response:
    """List the playbooks, each with its latest version."""
    talk.query()
    rows = await talk.ask(lambda at: at.starting.catalog.paths())
    keys = ("path", "version", "name", "description", "created_at")
    return told([dict(zip(keys, row, strict=True)) for row in rows])


async def look(talk: Talk) -> Response:
    """Show a version of a playbook; with `against` what differs from another one."""
    query, path = talk.query("version", "against"), str(talk.request.path_params["path"])
    version = version_of(query.get("version"))
    against = version_of(query.get("against"), "'against'")

    def read(at: Station) -> dict[str, Any]:
        catalog = at.starting.catalog
        found = entry_of(catalog, path, version)
        shown = _shown(found)
        if against is not None:
            shown["diff"] = _difference(entry_of(catalog, path, against), found)
            return shown
        shown["content"] = found.content
        shown["versions"] = [row[0] for row in catalog.versions(path)]
        return shown

    return told(await talk.ask(read))


async def submit(talk: Talk) -> Response:
    """Keep a playbook; the same text again is no new version."""
    body = await talk.body("content")
    content = needed(body.get("content"), "content", most=MOST_BODY)

    def keep(at: Station) -> Kept:
        with at.desk.audited(talk.by, "submit", "<content>"):
            return at.starting.submit(load(content, "<content>"))

    kept = await talk.ask(keep)
    shown = {"path": kept.path, "version": kept.version, "digest": kept.digest}
    where = f"/api/catalog/{quote(kept.path)}"
    return told({**shown, "is_new": kept.is_new}, 201 if kept.is_new else 200, Location=where)


def entry_of(catalog: Catalog, path: str, version: int | None) -> Entry:
    """Return a version of a playbook; say which there are when it is not there."""
    found = catalog.find(path, version)
    if found is not None:
        return found
    versions = [row[0] for row in catalog.versions(path)]
    if versions:
        message = f"playbook '{path[:200]}' has no version {version}"
        raise Fault(404, "not-found", message, allowed=[str(one) for one in versions])
    near = closest(path, [row[0] for row in catalog.paths()])
    more = f"; did you mean '{near}'?" if near else ""
    raise Fault(404, "not-found", f"playbook '{path[:200]}' is not in the catalog{more}")


def _shown(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "version": entry.version,
        "name": entry.name,
        "description": entry.description,
        "digest": entry.plan_digest,
        "created_at": entry.created_at,
    }


def _difference(old: Entry, new: Entry) -> str:
    lines = [one.content.splitlines(keepends=True) for one in (old, new)]
    names = [f"{one.path} version {one.version}" for one in (old, new)]
    return "".join(difflib.unified_diff(lines[0], lines[1], names[0], names[1]))


DOORS = (
    Door("GET", "/api/catalog", "viewer", list_all, "List the playbooks."),
    Door("POST", "/api/catalog", "operator", submit, "Submit a playbook."),
    Door("GET", "/api/catalog/{path:path}", "viewer", look, "Show a playbook."),
)

__all__ = ["DOORS", "entry_of"]
