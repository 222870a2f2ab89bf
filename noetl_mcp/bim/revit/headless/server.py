"""Answer calls as a Revit server does: a payload that says `ok`, or why not. Raises nothing.

One model is asked by one thread at a time; whoever serves it sees to that.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from noetl_mcp.bim.revit.headless import about
from noetl_mcp.bim.revit.headless.defects import DEFECTS, said
from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.method import Answer
from noetl_mcp.bim.revit.headless.refusals import Refused
from noetl_mcp.bim.revit.headless.understanding import understood
from noetl_mcp.bim.revit.methods import METHODS

Clock = Callable[[], float]
PASSED_ON = (
    *("dryRun", "confirm", "confirmToken", "requireConfirmToken", "failureHandling"),
    *("idempotencyKey", "__smoke_ok", "compat"),
)
"""What clients send along with any call; a method that only reads needs none of it."""
GUARDS = ("expectedContextToken", "__expectProjectGuid", "__expectProjectTitle")
"""What says which document is meant, and in which state."""
CHOICES = ("documentPath", "docPath", "docGuid", "docTitle")
"""What chooses a document; here there is one."""


class Headless:
    """A model that answers calls."""

    def __init__(self, document: Document, clock: Clock = time.perf_counter) -> None:
        self.document = document
        self._clock = clock

    @classmethod
    def opened(cls, path: Path) -> "Headless":
        """Open a model; raise Unreadable when it is none."""
        return cls(Document.opened(path))

    @property
    def title(self) -> str:
        """The document's title."""
        return self.document.title

    def answer(self, method: str, params: Mapping[str, Any]) -> Answer:
        """Return what a call gives."""
        started = self._clock()
        self.document.effort.begin()
        try:
            found = self._done(METHODS.name(method), params)
        except Refused as refused:
            found = _refused(refused)
        except RecursionError:
            found = _refused(Refused("INVALID_PARAMS", "what was sent is too deep"))
        except DEFECTS as broken:
            found = _refused(Refused("MODEL_DEFECT", said(broken)))
        left_out = [self.document.left_out] if self.document.left_out else []
        warnings = [*found.pop("warnings", []), *left_out]
        context = about.state(self.document)
        took = round((self._clock() - started) * 1000, 3)
        standard = {"ok": True, "code": "OK", "msg": "", "warnings": warnings}
        return standard | found | {"timings": {"totalMs": took}, "context": context}

    def _done(self, name: str, params: Mapping[str, Any]) -> Answer:
        self._guard(params)
        given = {key: params[key] for key in params if key not in _SHARED}
        found = about.offered(name)
        if found is not None:
            return found.does(self.document, understood(found.asks, given))
        if not METHODS.knows(name):
            raise about.unknown_method(name)
        raise about.not_offered(name)

    def _guard(self, params: Mapping[str, Any]) -> None:
        """Refuse a call that is meant for another document, or for another state of this one."""
        document = self.document
        expected = {
            "expectedContextToken": (self.token, "PRECONDITION_FAILED"),
            "__expectProjectGuid": (document.guid, "EXPECT_PROJECT_GUID_MISMATCH"),
            "__expectProjectTitle": (document.title, "EXPECT_PROJECT_TITLE_MISMATCH"),
        }
        for key, (is_so, code) in expected.items():
            if key in params and params[key] != is_so:
                raise Refused(code, f"'{key}' is not '{is_so}'")
        own = (str(document.path), str(document.path.resolve()), document.guid, document.title)
        for key in CHOICES:
            if params.get(key) is not None and params[key] not in own:
                raise Refused("NO_DOC", f"the only document that is open is '{document.title}'")

    @property
    def token(self) -> str:
        """A word for the state of the document."""
        return about.token(self.document)


_SHARED = frozenset((*PASSED_ON, *GUARDS, *CHOICES))


def _refused(refused: Refused) -> Answer:
    code = {"ok": False, "code": refused.code, "errorCode": refused.code}
    return code | {"msg": refused.message} | dict(refused.more)


__all__ = ["CHOICES", "GUARDS", "PASSED_ON", "Headless"]
