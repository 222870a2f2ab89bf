"""Say what went wrong in a program: a code, one sentence, and the lines of the program it met.

Works inside the program's process. Shows the program's own lines only, never a variable's value.
"""

import re
from collections.abc import Iterator

MOST_TEXT = 2_000
_FIRST_LINES, _LAST_LINES = 4, 8
_MOST_RELATED = 5
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


class Refused(Exception):
    """The program cannot be called, or gave what cannot be kept; no fault of a line of it."""

    def __init__(self, code: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def told(self) -> dict[str, object]:
        """Return what the parent is told."""
        return {"code": self.code, "message": clean(self.message), "details": self.details or None}


def failure(error: BaseException, file: str, source: str) -> dict[str, object]:
    """Describe what a program raised."""
    traced = list(_traced(error, file, source.splitlines()))
    details: dict[str, object] = {"type": clean(type(error).__name__)}
    lines = [number for number, _ in traced]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno or 1)
    if lines:
        details["line"] = lines[-1]
    shown = [text for _, text in _shortened(traced)]
    shown += [clean(_headline(error)), *map(clean, _related(error))]
    details["traceback"] = "\n".join(shown)
    return {"code": _code(error), "message": clean(_message(error, file)), "details": details}


def clean(text: str, most: int = MOST_TEXT) -> str:
    """Return a text that can be kept and shown: no NUL, no half characters, not too long."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short.replace("\0", "�").encode("utf-8", "replace").decode()


def _message(error: BaseException, file: str) -> str:
    if isinstance(error, MemoryError):
        return "the program asked for more memory than it may have"
    if isinstance(error, SystemExit):
        return f"{_headline(error)} (the program asked to exit; return a value instead)"
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{type(error).__name__} in line {error.lineno or 1}: {error.msg}"
    return _headline(error)


def _headline(error: BaseException) -> str:
    """Return `ValueError: three`, as Python itself would say it."""
    try:
        words = str(error)
    except BaseException:  # noqa: BLE001 - an exception of the program may fail even in this
        words = "(its text cannot be shown)"
    name = type(error).__name__
    return f"{name}: {words}" if words else name


def _code(error: BaseException) -> str:
    """Make `value-error` of ValueError."""
    if isinstance(error, MemoryError):
        return "memory"
    words = _HUMP.sub("-", type(error).__name__).lower()
    return _NOT_A_WORD.sub("-", words).strip("-") or "error"


def _traced(error: BaseException, file: str, source: list[str]) -> Iterator[tuple[int, str]]:
    """Find the program's own lines that the error went through, the outermost first."""
    place = error.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        if code.co_filename == file:
            number = place.tb_lineno or 1
            text = source[number - 1].strip() if number <= len(source) else ""
            yield number, f"line {number}, in {code.co_name}\n    {clean(text, 200)}"
        place = place.tb_next


def _shortened(traced: list[tuple[int, str]]) -> list[tuple[int, str]]:
    dropped = len(traced) - _FIRST_LINES - _LAST_LINES
    if dropped <= 0:
        return traced
    return [*traced[:_FIRST_LINES], (0, f"… {dropped} more …"), *traced[-_LAST_LINES:]]


def _related(error: BaseException) -> Iterator[str]:
    """Say what led to an error, and what a group of errors holds."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions[:_MOST_RELATED]:
            yield f"  - {_headline(one)}"
    seen = {id(error)}
    for _ in range(_MOST_RELATED):
        context = None if error.__suppress_context__ else error.__context__
        reason = error.__cause__ or context
        if reason is None or id(reason) in seen:
            return
        seen.add(id(reason))
        yield f"because of {_headline(reason)}"
        error = reason


__all__ = ["MOST_TEXT", "Refused", "clean", "failure"]
