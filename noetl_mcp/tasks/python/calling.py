"""A program inside its process: compiled once, run anew for every call, called by its signature.

Every call finds fresh globals, so nothing that one call leaves in them reaches the next; modules
that were imported stay as they are. Opens nothing and knows neither frames nor limits.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType, ModuleType

from noetl_mcp.tasks.python.failures import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it would cost every fresh process three milliseconds
    from collections.abc import Callable
    from typing import Any

WHOLE = frozenset(("input_data", "data", "input", "payload", "context", "args"))
MODULE = "playbook_code"
_BY_PLACE, _NORMAL, _REST, _BY_NAME, _ANY = range(5)  # as inspect numbers them
_TAKES_REST, _TAKES_ANY = 0x04, 0x08  # flags of a code object


class Program:
    """The text of a program and the function to call in it."""

    def __init__(self, code: str, file: str, function: str, libs: dict[str, str]) -> None:
        self.code = code
        self.file = file
        self.function = function
        self._compiled: CodeType = compile(code, file, "exec", dont_inherit=True)
        self._has_function = function in self._compiled.co_names
        self._libs = {name: _imported(module) for name, module in libs.items()}

    def call(self, given: object, auth: object) -> object:
        """Run the program and return what its function returns, or its variable `result`."""
        module = ModuleType(MODULE)
        sys.modules[MODULE] = module  # dataclasses, pickle and typing look a class's module up
        names = module.__dict__
        names["__file__"] = self.file
        names["__loader__"] = _Source(self.code)  # so tracebacks and `inspect` find the lines
        names.update(self._libs)
        if not self._has_function:
            names.update(self._as_globals(given))
        exec(self._compiled, names)
        function = names.get(self.function)
        if not callable(function):
            return self._result(names)
        args, kwargs = arguments(function, self.function, given, auth)
        return _awaited(function(*args, **kwargs))

    def _as_globals(self, given: object) -> dict[str, object]:
        """Return the input as names, for a program without a function to hand it to."""
        names = dict(given) if isinstance(given, dict) else {}
        names.pop(self.function, None)
        return {"input_data": given, **names}

    def _result(self, names: dict[str, object]) -> object:
        if self.function in names:
            words = f"'{self.function}' in the code is no function"
            raise Refused("no-main", words)
        if self.function == "main" and "result" in names:
            return names["result"]
        words = f"the code has neither a function '{self.function}' nor a 'result'"
        if self.function != "main":
            words = f"the code has no function '{self.function}'"
        raise Refused("no-main", f"{words}; write 'def {self.function}(…): …' and return the value")


class _Source:
    """Hands out the program's text to whoever shows its lines."""

    def __init__(self, code: str) -> None:
        self._code = code

    def get_source(self, name: str) -> str:
        return self._code


def _imported(name: str) -> object:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise Refused("missing-module", f"'libs' wants '{name}': {error}") from error


def _awaited(result: object) -> object:
    """Return a result itself, or what comes of it when it must be awaited."""
    if not hasattr(result, "__await__"):
        return result
    from asyncio import run  # 40 ms, so only for those that use it

    async def wait() -> object:
        return await result

    return run(wait())


def arguments(
    function: Callable[..., object], name: str, given: Any, auth: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Return what to call the function with; refuse the call when something is missing."""
    parameters = _parameters(function, name)
    if given is None:
        given = {}
    if not isinstance(given, dict):
        return _alone(parameters, name, given), {}
    named = [one for one, kind, _ in parameters if kind in (_BY_PLACE, _NORMAL, _BY_NAME)]
    needed = [one for one, _, is_needed in parameters if is_needed]
    takes_any = any(kind == _ANY for _, kind, _ in parameters)
    values = {one: given[one] for one in named if one in given}
    if auth is not None and "auth" in named and "auth" not in values:
        values["auth"] = auth
        needed = [one for one in needed if one != "auth"]
    whole = needed if len(needed) == 1 else named
    if len(whole) == 1 and whole[0] in WHOLE and whole[0] not in values and not takes_any:
        values[whole[0]] = given
    places = [one for one, kind, _ in parameters if kind == _BY_PLACE]
    while places and places[-1] not in values:
        places.pop()
    wanted = dict.fromkeys([*places, *needed])  # nothing can be left out before another place
    if absent := [one for one in wanted if one not in values]:
        raise Refused("bad-call", _wanting(name, absent, given))
    args = [values.pop(one) for one in places]
    if takes_any:
        values.update({key: value for key, value in given.items() if key not in named})
    return args, values


def _alone(parameters: list[tuple[str, int, bool]], name: str, given: object) -> list[object]:
    """Return an input that is no map as the only argument."""
    places = [one for one, kind, _ in parameters if kind in (_BY_PLACE, _NORMAL)]
    needed = {one for one, _, is_needed in parameters if is_needed}
    takes_one = bool(places) or any(kind == _REST for _, kind, _ in parameters)
    if takes_one and needed <= set(places[:1]):
        return [given]
    if not parameters:
        return []
    wants = ", ".join(f"'{one}'" for one, _, _ in parameters)
    words = f"'{name}' wants {wants} by name, and the step's data is {_kind(given)}, not a map"
    raise Refused("bad-call", words)


def _wanting(name: str, absent: list[str], given: dict[str, object]) -> str:
    wants = ", ".join(f"'{one}'" for one in absent)
    are = "is" if len(absent) == 1 else "are"
    known = ", ".join(f"'{one}'" for one in list(given)[:30]) if given else "nothing"
    return f"'{name}' wants {wants}, which {are} not in the step's data; given: {known}"


def _kind(given: object) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(given), "a number")


def _parameters(function: Callable[..., object], name: str) -> list[tuple[str, int, bool]]:
    """Return the name, the kind and the need of every parameter."""
    if type(function) is not FunctionType or hasattr(function, "__wrapped__"):
        return _inspected(function, name)
    code, defaults = function.__code__, len(function.__defaults__ or ())
    most, first_default = code.co_argcount, code.co_argcount - defaults
    found = [
        (one, _BY_PLACE if place < code.co_posonlyargcount else _NORMAL, place < first_default)
        for place, one in enumerate(code.co_varnames[:most])
    ]
    known = function.__kwdefaults__ or {}
    end = most + code.co_kwonlyargcount
    found += [(one, _BY_NAME, one not in known) for one in code.co_varnames[most:end]]
    if code.co_flags & _TAKES_REST:
        found.append((code.co_varnames[end], _REST, False))
        end += 1
    if code.co_flags & _TAKES_ANY:
        found.append((code.co_varnames[end], _ANY, False))
    return found


def _inspected(function: Callable[..., object], name: str) -> list[tuple[str, int, bool]]:
    """Ask `inspect`, which takes 15 ms to import, about anything but a plain function."""
    from inspect import signature

    try:
        parameters = signature(function).parameters.values()
    except ValueError:
        raise Refused("bad-call", f"the parameters of '{name}' cannot be read") from None
    return [
        (one.name, int(one.kind), one.default is one.empty and one.kind not in (_REST, _ANY))
        for one in parameters
    ]


__all__ = ["MODULE", "WHOLE", "Program", "arguments"]
