"""Say over the web what a playbook means, and what can be wrong with one. Keeps and runs nothing.

A text is read in a process of its own: however long it takes, and whatever it takes of the memory,
others do not notice.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from starlette.responses import Response

from noetl_mcp.compiler.schema import SCHEMAS, schema_text
from noetl_mcp.diagnostics import closest
from noetl_mcp.language import FORMS, WIDTH
from noetl_mcp.rules.catalogue import BY_NAME, CATALOGUE, page_of, row_of, rule_called
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.web.apart import Errand, Kind
from noetl_mcp.web.catalogue import entry_of
from noetl_mcp.web.desks import Station
from noetl_mcp.web.faults import Fault, told
from noetl_mcp.web.talk import Door, Talk, Which, seconds_of, which_of, whole, yes

READ = Kind("reading", "noetl_mcp.web.reading_apart", most=4, waiting=64, kept=30.0)
MOST_MEMORY = 2**30
LEAST_WIDTH, MOST_WIDTH = 20, 1_000
_WHICH = ("content", "path", "version", "seconds")
_SHOWN = {
    # A picture holds words of whoever wrote the playbook; opened as a page, it may do nothing.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}


async def validate(talk: Talk) -> Response:
    """Say everything that is wrong with a playbook."""
    body = await talk.body(*_WHICH, "strict")
    return await _read(talk, body, "validate", strict=yes(body.get("strict"), "strict"))


async def compile_(talk: Talk) -> Response:
    """Return the plan."""
    return await _read(talk, await talk.body(*_WHICH), "compile")


async def explain(talk: Talk) -> Response:
    """Say what a playbook will do."""
    return await _read(talk, await talk.body(*_WHICH), "explain")


async def graph(talk: Talk) -> Response:
    """Draw the steps."""
    body = await talk.body(*_WHICH, "format", "ascii", "width")
    form = body.get("format", "text")
    if form not in FORMS:
        raise Fault(400, "wrong-value", "'format' says what to draw", allowed=FORMS)
    width = whole(body.get("width", WIDTH), "'width'", least=LEAST_WIDTH, most=MOST_WIDTH)
    plain = yes(body.get("ascii"), "ascii")
    answer = await _read(talk, body, "draw", format=form, ascii=plain, width=width)
    if answer.status_code == 200 and form in ("svg", "png"):
        answer.headers["Content-Disposition"] = f'attachment; filename="graph.{form}"'
        answer.headers.update(_SHOWN)
    return answer


async def migrate(talk: Talk) -> Response:
    """Return the v2 form of a playbook of any dialect."""
    return await _read(talk, await talk.body(*_WHICH), "migrate")


async def schema(talk: Talk) -> Response:
    """Return a JSON Schema."""
    talk.query()
    name = str(talk.request.path_params["name"])
    if name not in SCHEMAS:
        raise Fault(404, "not-found", f"there is no schema '{name[:100]}'", allowed=list(SCHEMAS))
    text = await talk.desks.think(lambda: _schema(name))
    return Response(text, 200, {"Cache-Control": "no-store"}, "application/json")


async def rules(talk: Talk) -> Response:
    """List everything that can be wrong."""
    talk.query()
    return told([row_of(rule) for rule in CATALOGUE])


async def rule(talk: Talk) -> Response:
    """Say what one rule means."""
    talk.query()
    what = str(talk.request.path_params["rule"])
    found = rule_called(what)
    if found is None:
        near = closest(what, BY_NAME)
        more = f"; did you mean '{near}'?" if near else ""
        raise Fault(404, "not-found", f"there is no rule '{what[:100]}'{more}")
    return told({**row_of(found), "page": page_of(found)})


async def _read(talk: Talk, body: Mapping[str, Any], how: str, **more: Any) -> Response:
    which, seconds = which_of(body), seconds_of(body)
    content = which.content
    if content is None:
        content = await talk.desks.ask(lambda at: _kept(at, which), reads=True)
    given = {"how": how, "content": content, "name": which.name, "memory": MOST_MEMORY, **more}
    return await talk.desks.apart.done(Errand(READ, given, seconds), talk.gone)


def _kept(at: Station, which: Which) -> str:
    assert which.path is not None
    return entry_of(at.starting.catalog, which.path, which.version).content


@cache
def _schema(name: str) -> bytes:
    return schema_text(name, known_tasks())


DOORS = (
    Door("POST", "/api/validate", "viewer", validate, "Say what is wrong with a playbook."),
    Door("POST", "/api/compile", "viewer", compile_, "Return the plan of a playbook."),
    Door("POST", "/api/explain", "viewer", explain, "Say what a playbook will do."),
    Door("POST", "/api/graph", "viewer", graph, "Draw the steps of a playbook."),
    Door("POST", "/api/migrate", "viewer", migrate, "Write a playbook in the v2 form."),
    Door("GET", "/api/schemas/{name}", "viewer", schema, "A JSON Schema."),
    Door("GET", "/api/rules", "viewer", rules, "List everything that can be wrong."),
    Door("GET", "/api/rules/{rule}", "viewer", rule, "Say what a rule means."),
)

__all__ = ["DOORS", "READ"]
