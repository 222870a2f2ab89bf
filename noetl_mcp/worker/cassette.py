"""A cassette: the calls of one execution in a file of JSON lines. Calls nobody itself.

The first line is the head, each further one a call or what a person decided, and the last one says
how it ended; a file without that is a recording that broke off, and is read all the same. What is
long stands in a folder beside the file and is named by its digest.
"""

import hashlib
import os
import re
import reprlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import orjson

VERSION = 1
LONG = 65_536
"""Longer texts stand in a file of their own."""
BESIDE = ".parts"
"""What the folder of those files is called, after the name of the cassette."""
_PART = re.compile(r"[0-9a-f]{64}\.json")
_MOST_SHOWN = 1_000
_LONG_KEYS = ("asked", "came")


class NoCassette(Exception):
    """A file cannot be read or written as a cassette; the text says why."""


@dataclass(frozen=True, slots=True)
class Spot:
    """From where in an execution a call is made."""

    step: str
    """As people write it: `fetch`, or `fetch[3]` for an item."""
    within: str = ""
    """The steps that called the sub-playbooks it stands in, outermost first."""

    def __str__(self) -> str:
        return f"{self.within} / {self.step}" if self.within else self.step

    def as_json(self) -> dict[str, str]:
        """Return it as it is written."""
        told = {"step": self.step}
        return {**told, "within": self.within} if self.within else told


@dataclass(frozen=True, slots=True)
class Entry:
    """One call that was made."""

    spot: Spot
    call: int
    """Which one from this spot, counted from one."""
    attempt: int
    task: str
    writes: bool
    asked: Any
    came: Mapping[str, Any]
    """`result`, or `failed`, `unknown` or `stopped` with what is known of that."""
    elapsed: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the line that is written."""
        return {
            **self.spot.as_json(),
            "call": self.call,
            "attempt": self.attempt,
            "task": self.task,
            **({"writes": True} if self.writes else {}),
            "asked": self.asked,
            "came": self.came,
            "elapsed": self.elapsed,
        }


@dataclass(frozen=True, slots=True)
class Tape:
    """All that a cassette holds."""

    head: Mapping[str, Any]
    entries: Sequence[Entry]
    decided: Sequence[Mapping[str, Any]] = ()
    end: Mapping[str, Any] | None = None
    """How the recording ended; None when it broke off."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """The fields that may differ, as somebody wrote them into the head."""
        said = self.head.get("ignore") or ()
        return tuple(str(one) for one in said) if isinstance(said, list) else (str(said),)


@dataclass(eq=False)
class Writer:
    """Writes a cassette, line by line; a disk that is full ends the recording, not the run."""

    path: Path
    long: int = LONG
    """Texts of so many bytes stand beside it."""
    calls: int = 0
    trouble: str | None = None
    _file: IO[bytes] | None = field(default=None, repr=False)

    def begin(self, head: Mapping[str, Any]) -> None:
        """Begin the file anew; raise NoCassette when it cannot be written."""
        demand_writable(self.path)
        folder = beside(self.path)
        try:
            if folder.is_dir():
                for old in folder.iterdir():
                    if _PART.fullmatch(old.name):
                        old.unlink()
            self._file = self.path.open("wb")
        except OSError as problem:
            raise NoCassette(f"cannot write '{self.path}': {problem.strerror}") from None
        self._write({"cassette": VERSION, **head})

    def add(self, entry: Entry) -> None:
        """Write a call."""
        self.calls += 1
        self._write(entry.as_json())

    def decided(self, told: Mapping[str, Any]) -> None:
        """Write what a person decided."""
        self._write(told)

    def close(self, end: Mapping[str, Any] | None) -> None:
        """Write how it ended, and see that all of it is on the disk."""
        if end is not None:
            self._write({"end": {**end, "calls": self.calls}})
        file, self._file = self._file, None
        if file is None:
            return
        try:
            with file:
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            self.trouble = str(problem.strerror)

    def _write(self, told: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        try:
            line = {key: one for key, one in told.items() if key not in _LONG_KEYS}
            for key in _LONG_KEYS:
                if key in told:
                    line |= self._kept(key, told[key])
            self._file.write(json_of(line) + b"\n")
            self._file.flush()
        except OSError as problem:
            self.trouble = str(problem.strerror)
            file, self._file = self._file, None
            with suppress(OSError):
                file.close()

    def _kept(self, key: str, value: Any) -> dict[str, Any]:
        """Return a value as it stands in its line: itself, or the file that holds it."""
        raw = json_of(value)
        if len(raw) < self.long:
            return {key: value}
        name = f"{hashlib.sha256(raw).hexdigest()}.json"
        folder = beside(self.path)
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(raw)
        return {f"{key}_in": name}


def demand_writable(path: Path) -> None:
    """Raise NoCassette where no cassette can be written; nothing else is written over."""
    if path.is_dir():
        raise NoCassette(f"'{path}' is a folder")
    if not path.parent.is_dir():
        raise NoCassette(f"there is no folder '{path.parent}' for '{path.name}'")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise NoCassette(f"'{path}' may not be written here")
    if path.exists() and path.stat().st_size:
        try:
            read_head(path)
        except NoCassette as problem:
            raise NoCassette(f"{problem}; it is not written over") from None


def read_head(path: Path) -> dict[str, Any]:
    """Return the head of a cassette."""
    try:
        with path.open("rb") as file:
            raw = file.readline(16_777_216)
    except OSError as problem:
        raise NoCassette(f"cannot read '{path}': {problem.strerror}") from None
    return _head(raw, f"'{path}'")


def _head(raw: bytes, name: str) -> dict[str, Any]:
    head = _line(raw)
    if not isinstance(head, dict) or "cassette" not in head:
        raise NoCassette(f"{name} is not a cassette: its first line is no head of one")
    if head["cassette"] != VERSION:
        form = str(head["cassette"])[:100]
        raise NoCassette(
            f"{name} is a cassette of form {form}, and this version reads form {VERSION}"
        )
    if not _is_given(head.get("given")):
        raise NoCassette(f"{name} does not say in its head what it was started with")
    return head


def _is_given(value: Any) -> bool:
    """Whether a recording could have been started with this: a payload, and texts to lay over."""
    if value is None:
        return True
    if not isinstance(value, dict) or not isinstance(value.get("payload", {}), dict):
        return False
    return _are_texts(value.get("sets", []))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def read_tape(path: Path) -> Tape:
    """Return all that a cassette holds; raise NoCassette where it is none."""
    read_head(path)
    return tape_of(path.read_bytes(), f"'{path}'", beside(path))


def tape_of(raw: bytes, name: str, parts: Path | None = None) -> Tape:
    """Return all that the text of a cassette holds; nothing stands beside one without `parts`."""
    lines = raw.split(b"\n")
    head = _head(lines[0], name)
    entries: list[Entry] = []
    decided: list[Mapping[str, Any]] = []
    end = None
    for number, raw in enumerate(lines[1:], 2):
        if not raw.strip():
            continue
        told = _line(raw)
        if told is None and number == len(lines):
            break  # the recording broke off inside a line
        if isinstance(told, dict) and isinstance(told.get("end"), dict):
            end = told["end"]
            if not _are_texts(end.get("secrets", [])):
                raise NoCassette(f"line {number} of {name} is not the end of a cassette")
        elif isinstance(told, dict) and "decided" in told:
            decided.append(told)
        else:
            entries.append(_entry(f"line {number} of {name}", told, parts))
    return Tape(head, entries, decided, end)


def _entry(where: str, told: Any, parts: Path | None) -> Entry:
    """Return the call that a line tells of."""
    try:
        asked, came = _whole(parts, told, "asked"), _whole(parts, told, "came")
        spot = Spot(str(told["step"]), str(told.get("within", "")))
        if not isinstance(came, dict) or not came:
            raise KeyError("came")
        call, attempt = int(told["call"]), int(told.get("attempt", 1))
        writes, elapsed = told.get("writes") is True, float(told.get("elapsed", 0))
        return Entry(spot, call, attempt, str(told["task"]), writes, asked, came, elapsed)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NoCassette(f"{where} is not a call of a cassette") from None


def _whole(parts: Path | None, told: Mapping[str, Any], key: str) -> Any:
    name = told.get(f"{key}_in")
    if name is None:
        return told[key]
    if parts is None or not _PART.fullmatch(str(name)):
        raise ValueError(name)
    part = parts / name
    try:
        return orjson.loads(part.read_bytes())
    except OSError as problem:
        raise NoCassette(f"cannot read '{part}': {problem.strerror}") from None


def beside(path: Path) -> Path:
    """Return the folder in which the long texts of a cassette stand."""
    return path.with_name(path.name + BESIDE)


def plain_of(value: Any) -> Any:
    """Return a value as it is read back; what no JSON can hold becomes a text that shows it."""
    try:
        return orjson.loads(json_of(value))
    except (TypeError, ValueError, RecursionError):
        return reprlib.repr(value)[:_MOST_SHOWN]


def json_of(value: Any) -> bytes:
    """Return a value as JSON; what has no form there is written as a text."""
    return orjson.dumps(value, default=_text, option=orjson.OPT_NON_STR_KEYS)


def _text(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"{len(value)} bytes, sha256 {hashlib.sha256(value).hexdigest()}"
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset, tuple)):
        return sorted(value, key=str) if isinstance(value, (set, frozenset)) else list(value)
    return str(value)


def _line(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError:
        return None


__all__ = [
    "BESIDE",
    "LONG",
    "VERSION",
    "Entry",
    "NoCassette",
    "Spot",
    "Tape",
    "Writer",
    "beside",
    "demand_writable",
    "json_of",
    "plain_of",
    "read_head",
    "read_tape",
    "tape_of",
]
