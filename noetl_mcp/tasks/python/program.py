"""What a step's settings say about its program: the text, what it needs, who may share a process.

Reads a script's file; runs nothing and installs nothing.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

import orjson

from noetl_mcp.playbook.rendering.secret import shown
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.tasks.specs_compute import PythonSettings

UNNAMED = "code"
_MOST_CODE = 1024 * 1024
_WANTED = re.compile(r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(.*?)\s*")
_BOUND = re.compile(r"\s*(==|!=|>=|<=|>|<)\s*v?(\d+(?:\.\d+)*)\s*")
_COMPARED = {"==": eq, "!=": ne, ">=": ge, "<=": le, ">": gt, "<": lt}


@dataclass(frozen=True, slots=True)
class Program:
    """A program as its process is told of it; calls with the same `key` may share a process."""

    key: bytes
    opening: bytes
    env: Mapping[str, str]
    isolate: bool
    memory_mb: int | None


def read_program(
    settings: PythonSettings,
    *,
    folders: Sequence[Path],
    most_result_bytes: int,
    secrets: Iterable[bytes],
) -> Program:
    """Return the program that the settings describe; `secrets` are those that a call brings."""
    code, file = _text(settings, folders)
    if len(code) > _MOST_CODE:
        raise Failed(
            "bad-code", f"the code has more than {_MOST_CODE:,} characters", retriable=False
        )
    _check_packages(settings.packages)
    env = {key: _word(value) for key, value in settings.env.items()}
    told = {
        "code": code,
        "file": file,
        "function": settings.function,
        "libs": {name: str(module) for name, module in settings.libs.items()},
        "memory_mb": settings.memory_mb,
        "most_result_bytes": most_result_bytes,
    }
    try:
        opening = orjson.dumps(told)
        shared = orjson.dumps([env, settings.isolate], option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise Failed("bad-code", f"the settings are no text: {error}", retriable=False) from None
    digest = blake2b(opening, digest_size=16)
    digest.update(shared)
    for secret in secrets:
        digest.update(b"\0" + secret)
    return Program(digest.digest(), opening, env, settings.isolate, settings.memory_mb)


def _text(settings: PythonSettings, folders: Sequence[Path]) -> tuple[str, str]:
    """Return the program's text, and the name of its file in messages."""
    if settings.code is not None:
        return settings.code, UNNAMED
    if settings.code_b64 is not None:
        return _decoded(settings.code_b64), UNNAMED
    if settings.script is not None:
        path = _found(settings.script, folders)
        try:
            return path.read_text("utf-8-sig"), path.name
        except (OSError, ValueError) as error:
            words = f"the script '{settings.script}' cannot be read: {_reason(error)}"
            raise Failed("bad-script", words, retriable=False) from None
    raise Failed("bad-code", "there is no 'code', 'code_b64' or 'script'", retriable=False)


def _decoded(text: str) -> str:
    try:
        return b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        words = "'code_b64' is not text in UTF-8 and base64"
        raise Failed("bad-code", words, retriable=False) from None


def _found(script: str, folders: Sequence[Path]) -> Path:
    """Return a script's file below an allowed folder; links that lead out of it are refused."""
    if not folders:
        words = f"the script '{script}' is not read: no folder is allowed for scripts"
        raise Failed("script-refused", words, retriable=False)
    leads_out = False
    for folder in folders:
        root = folder.resolve()
        try:
            path = (root / script).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):  # absent, a NUL in it, links in a circle
            leads_out |= ".." in Path(script).parts or Path(script).is_absolute()
            continue
        if path.is_relative_to(root) and path.is_file():
            return path
        leads_out |= not path.is_relative_to(root)
    if leads_out:
        words = f"the script '{script}' is not below an allowed folder"
        raise Failed("script-refused", words, retriable=False)
    words = f"there is no script '{script}' in an allowed folder"
    raise Failed("no-script", words, retriable=False)


def _reason(error: Exception) -> str:
    return error.strerror or "unknown" if isinstance(error, OSError) else "it is not UTF-8"


def _check_packages(wanted: Sequence[str]) -> None:
    """Refuse a program whose distributions are not there, naming all of them."""
    missing = [problem for one in wanted if (problem := _missing(one)) is not None]
    if missing:
        words = f"{'; '.join(missing)}; nothing is installed for a step"
        raise Failed("missing-package", words, retriable=False)


def _missing(wanted: str) -> str | None:
    """Say what is wrong with a distribution such as `numpy` or `numpy>=2,<3`."""
    parts = _WANTED.fullmatch(wanted)
    bounds = [_BOUND.fullmatch(one) for one in parts[2].split(",") if one] if parts else [None]
    if parts is None or None in bounds:
        return f"'{wanted}' is not understood (write NAME, or NAME with bounds such as >=2,<3)"
    try:
        found = version(parts[1])
    except PackageNotFoundError:
        return f"'{parts[1]}' is not installed"
    release = _release(found)
    fits = all(
        _COMPARED[bound[1]](*_evened(release, _release(bound[2]))) for bound in bounds if bound
    )
    return None if fits else f"'{wanted}' is wanted, and {found} is installed"


def _release(text: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with."""
    found = re.match(r"(?:\d+!)?(\d+(?:\.\d+)*)", text)
    return tuple(map(int, found[1].split("."))) if found else ()


def _evened(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    most = max(len(one), len(other))
    return tuple(numbers + (0,) * (most - len(numbers)) for numbers in (one, other))


def _word(value: object) -> str:
    """Return a value as an environment holds it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(shown(value))


@dataclass(frozen=True, slots=True)
class Order:
    """What a call brings its program, as JSON, and the secrets that are in it."""

    payload: bytes
    secrets: tuple[str, ...]
    auth: bytes


def read_order(call: Call) -> Order:
    """Return what `main` is called with."""
    secrets: list[str] = []

    def revealed(value: object) -> str:
        text = shown(value)
        if text is value or not isinstance(text, str):
            raise TypeError(f"{type(value).__name__} is not JSON")
        secrets.append(text)
        return text

    try:
        auth = orjson.dumps(_credentials(call.auth), default=revealed) if call.auth else b""
        given = orjson.dumps(call.input, default=revealed)
    except TypeError as error:
        words = f"the step's data cannot be handed over: {error}"
        raise Failed("bad-input", words, retriable=False) from None
    payload = b'{"input":%b,"auth":%b}' % (given, auth) if auth else b'{"input":%b}' % given
    return Order(payload, tuple(dict.fromkeys(secrets)), auth)


def _credentials(auth: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the only credential itself, or all of them by alias."""
    if set(auth) == {""}:
        return dict(auth[""])
    return {alias: dict(credential) for alias, credential in auth.items()}


__all__ = ["UNNAMED", "Order", "Program", "read_order", "read_program"]
