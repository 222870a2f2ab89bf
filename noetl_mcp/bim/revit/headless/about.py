"""The methods that tell of the server itself: that it lives, and what it can be asked."""

import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from pydantic import Field

from noetl_mcp import __version__
from noetl_mcp.bim.revit.headless.asking import Asked, Nothing, OneMethod, Trial, Words
from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import text
from noetl_mcp.bim.revit.headless.method import Answer, Method
from noetl_mcp.bim.revit.headless.methods import READS
from noetl_mcp.bim.revit.headless.refusals import Refused, unknown
from noetl_mcp.bim.revit.headless.understanding import understood
from noetl_mcp.bim.revit.headless.views import in_space
from noetl_mcp.bim.revit.methods import METHODS as REGISTRY

PRODUCT = "noetl-mcp headless Revit"


class Context(Asked):
    """What of the context is wanted."""

    include_selection_ids: bool = Field(False, description="Tell what is selected: nothing.")
    max_selection_ids: int = Field(0, ge=0, description="At most so many.")


class Commands(Asked):
    """Which commands are listed."""

    include_deprecated: bool = Field(False, description="Old ones, too; there are none.")
    names_only: bool = Field(False, description="Their names alone.")


def ping(document: Document, asked: Nothing) -> Answer:
    """Tell that the server lives, and how it counts."""
    return {
        "msg": "pong",
        "product": PRODUCT,
        "build": __version__,
        "activeDocument": document.title,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "process": {"pid": os.getpid()},
        "inputUnits": {"length": "mm", "angle": "deg"},
        "internalUnits": {"length": "ft", "angle": "rad"},
        "issues": [],
    }


def status(document: Document, asked: Nothing) -> Answer:
    """Tell that calls are answered; whoever serves this tells of its queue in its place."""
    return {"msg": "ready", "activeDocument": document.title}


def context(document: Document, asked: Context) -> Answer:
    """Tell the document and its state, as the standard field `context` does."""
    found = state(document)
    told = {
        "tokenVersion": found["contextTokenVersion"],
        "revision": found["contextRevision"],
        "contextToken": found["contextToken"],
        "docGuid": document.guid,
        "docTitle": document.title,
        "activeViewId": found["activeViewId"],
        "selectionCount": 0,
    }
    return {"data": told | ({"selectionIds": []} if asked.include_selection_ids else {})}


def state(document: Document) -> Answer:
    """Return the standard field `context`: the document, its state and the active view."""
    active = in_space(document)
    return {
        "docTitle": document.title,
        "docKey": document.guid,
        "docKeySource": "IfcProject.GlobalId",
        "docKeyStable": True,
        "docGuid": document.guid,
        "activeViewId": active.id,
        "activeViewName": active.name,
        "activeViewType": active.kind,
        "contextTokenVersion": "ctx.v1",
        "contextRevision": 0,
        "contextToken": token(document),
    }


def token(document: Document) -> str:
    """Return a word for the state of a document: another model, or a change, has another."""
    said = f"{document.guid}:{document.digest}"
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def bootstrap(document: Document, asked: Nothing) -> Answer:
    """Tell an agent where it is, in one answer."""
    return {
        "server": {"product": PRODUCT, "version": __version__, "isReadOnly": True},
        "project": {"name": text(document.project.Name or ""), "guid": document.guid},
        "document": {
            "title": document.title,
            "schema": document.file.schema,
            "levels": [one.name for one in document.levels],
            "elementCount": len(document.elements),
        },
        "environment": {"activeViewId": in_space(document).id},
        "units": {"length": "mm", "area": "m2", "angle": "deg"},
    }


def commands(document: Document, asked: Commands) -> Answer:
    """List the methods that are answered here."""
    found = _all()
    if asked.names_only:
        return {"totalCount": len(found), "commands": sorted(found)}
    rows = [_row(found[name]) for name in sorted(found)]
    return {"totalCount": len(rows), "commands": rows}


def search(document: Document, asked: Words) -> Answer:
    """List the methods in which all words stand; where there is none, those with most of them."""
    words = asked.query.casefold().split()
    rows = [_row(one) for _, one in sorted(_all().items())]
    counts = [sum(word in _said(row) for word in words) for row in rows]
    most = max(counts)
    found = [row for row, count in zip(rows, counts, strict=True) if count == most]
    found = found if most or not words else []
    return {"data": {"items": found, "totalCount": len(found)}}


def describe(document: Document, asked: OneMethod) -> Answer:
    """Tell what a method may be asked, or that it is answered by a real Revit alone."""
    name = REGISTRY.name(asked.method)
    found = offered(name)
    if found is not None:
        return {"data": _row(found) | {"paramsSchema": found.asks.model_json_schema()}}
    if not REGISTRY.knows(name):
        raise unknown_method(name)
    kind, risk = _KINDS[REGISTRY.effect(name)]
    return {"data": {"method": name, "kind": kind, "risk": risk, "isSupported": False}}


def smoke(document: Document, asked: Trial) -> Answer:
    """Say whether a call could be made, without making it."""
    name = REGISTRY.name(asked.method)
    found = offered(name)
    if found is None:
        raise not_offered(name) if REGISTRY.knows(name) else unknown_method(name)
    understood(found.asks, asked.params)
    return {"msg": "it can be called", "severity": "info", "meta": {"kind": "read"}}


def offered(name: str) -> Method | None:
    """Return a method that is answered here."""
    return METHODS.get(name) or READS.get(name)


def unknown_method(name: str) -> Refused:
    """Return the refusal of a method that nobody knows."""
    wrong = unknown("method", name, (*_all(), *REGISTRY.effects))
    return Refused("UNKNOWN_COMMAND", wrong.message)


def not_offered(name: str) -> Refused:
    """Return the refusal of a method that Revit has and this server has not."""
    why = "this server reads only" if REGISTRY.writes(name) else "this server does not read that"
    more = "list_commands says what it answers"
    return Refused("UNSUPPORTED_ON_HEADLESS", f"'{name}' is for a real Revit: {why}; {more}")


_KINDS = {"reads": ("read", "low"), "writes": ("write", "medium"), "destroys": ("write", "high")}


def _all() -> dict[str, Method]:
    return {**METHODS, **READS}


def _row(one: Method) -> dict[str, Any]:
    told = {"method": one.name, "summary": one.says, "kind": "read", "risk": "low"}
    return told | {"isSupported": True}


def _said(row: dict[str, Any]) -> str:
    return f"{row['method']} {row['summary']}".casefold()


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        one.name: one
        for one in (
            Method("ping_server", "Say that the server lives.", Nothing, ping),
            Method("status", "Tell how the server is, and its queue.", Nothing, status),
            Method("get_context", "Tell the document and its state.", Context, context),
            Method("agent_bootstrap", "Tell where one is, in one answer.", Nothing, bootstrap),
            Method("list_commands", "List what can be asked here.", Commands, commands),
            Method("search_commands", "List the methods that words name.", Words, search),
            Method("describe_command", "Tell what a method may be asked.", OneMethod, describe),
            Method("smoke_test", "Say whether a call could be made.", Trial, smoke),
        )
    }
)

__all__ = [
    "METHODS",
    "PRODUCT",
    "not_offered",
    "offered",
    "state",
    "token",
    "unknown_method",
]
