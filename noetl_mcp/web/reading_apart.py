"""Read one playbook's text for one client of the web; in a process that does nothing else.

What a text could take of the memory is bounded here, and what of the time by whoever waits.
"""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from noetl_mcp import language
from noetl_mcp.events.memory import bounded_memory
from noetl_mcp.language import Broken, NotTheSame
from noetl_mcp.playbook.load import Loaded, load
from noetl_mcp.web.faults import Fault, refused, told, wrong_playbook

Given = Mapping[str, Any]
_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


def done(orders: Mapping[str, Any]) -> Response:
    """Do what is asked and return the answer; what was refused is an answer, too."""
    given: Given = orders["given"]
    try:
        with bounded_memory(given["memory"]):
            return _DOES[given["how"]](load(given["content"], given["name"]), given)
    except Broken as broken:
        return refused(wrong_playbook(broken))
    except NotTheSame as problem:
        return refused(Fault(422, "not-the-same", str(problem)))
    except RecursionError:
        return refused(Fault(422, "too-deep", "it is too deep; make it less nested"))


def _validate(loaded: Loaded, given: Given) -> Response:
    """As `validate --json` does."""
    found = [one.as_json() for one in language.checked(loaded).report]
    is_wrong = loaded.report.has() or (given["strict"] and bool(found))
    return told({"valid": not is_wrong, "diagnostics": found})


def _compile(loaded: Loaded, given: Given) -> Response:
    return Response(language.planned(loaded).to_json(), media_type="application/json")


def _explain(loaded: Loaded, given: Given) -> Response:
    return Response(language.explained(loaded), media_type="text/plain")


def _draw(loaded: Loaded, given: Given) -> Response:
    form = given["format"]
    picture = language.drawn(loaded, form, width=given["width"], ascii_only=given["ascii"])
    return Response(picture, media_type=_TYPES.get(form, "text/plain"))


def _migrate(loaded: Loaded, given: Given) -> Response:
    done = language.migrated(loaded)
    return told({"content": done.text, "lost": [one.as_json() for one in done.lost]})


_DOES: Mapping[str, Callable[[Loaded, Given], Response]] = {
    "validate": _validate,
    "compile": _compile,
    "explain": _explain,
    "draw": _draw,
    "migrate": _migrate,
}

__all__ = ["done"]
