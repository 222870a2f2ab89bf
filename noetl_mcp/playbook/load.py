"""Turn a text into a playbook, or tell everything that is wrong with it at once."""

from dataclasses import dataclass
from pathlib import Path as FilePath

from pydantic import ValidationError

from noetl_mcp.diagnostics import Place, Report
from noetl_mcp.errors import NotReadable
from noetl_mcp.playbook.dialects.book import read_book
from noetl_mcp.playbook.dialects.reading import Reading
from noetl_mcp.playbook.model import UNSAID, Playbook
from noetl_mcp.playbook.node import Node, Path, find, plain
from noetl_mcp.playbook.source import MOST_BYTES, Source, read
from noetl_mcp.playbook.wrong_values import meant_keys, said
from noetl_mcp.rules import reading as rules
from noetl_mcp.steady import steady

_MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of a text: the playbook as far as it could be read, and the findings."""

    source: Source
    report: Report
    playbook: Playbook | None


def load_file(path: FilePath) -> Loaded:
    """Load a playbook from a file."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES * 4 + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, IsADirectoryError):
            reason = "it is a folder; name the files in it"
        raise NotReadable(f"cannot read '{path}': {reason}") from None
    return load_bytes(raw, str(path))


def load_bytes(raw: bytes, file: str) -> Loaded:
    """Load a playbook from bytes; they must be UTF-8 or UTF-16 with its mark."""
    if len(raw) > MOST_BYTES * 4:
        source = Source(file, "")
        report = Report(source)
        size = f"more than {MOST_BYTES}"
        report.say(rules.TOO_LARGE, Place(), size=size, most=MOST_BYTES)
        return Loaded(source, report, None)
    is_wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    coding = "utf-16" if is_wide else "utf-8-sig"
    try:
        text = raw.decode(coding)
    except UnicodeDecodeError as error:
        source = Source(file, raw.decode(coding, "replace"))
        report = Report(source)
        at = len(raw[: error.start].decode(coding, "replace"))
        problem = f"byte {error.start} is 0x{raw[error.start]:02x}"
        report.say(rules.NOT_TEXT, source.place_at(at), problem=problem)
        return Loaded(source, report, None)
    return load(text, file)


def load(text: str, file: str = "<text>") -> Loaded:
    """Load a playbook from a text."""
    with steady():
        return _load(text, file)


def _load(text: str, file: str) -> Loaded:
    source = Source(file, text.removeprefix("\ufeff"))
    report = Report(source)
    read(source, report)
    if source.root is None:
        if not report.has():
            report.say(rules.EMPTY, Place())
        return Loaded(source, report, None)
    desk = Reading(source, report)
    source.root = read_book(source.root, desk)
    if source.root is None:
        return Loaded(source, report, None)
    return Loaded(source, report, _validate(source.root, source, report))


def _validate(root: Node, source: Source, report: Report) -> Playbook | None:
    """Validate; report what is wrong, settle it, and go on so that nothing hides the rest."""
    settled: set[Path] = set()
    for _ in range(_MOST_ROUNDS):
        data = plain(root)
        try:
            return Playbook.model_validate(data)
        except ValidationError as error:
            details = error.errors(include_url=False)
        meant = meant_keys(details, report)
        for detail in details:
            path = detail["loc"]
            is_new = not any(path[:length] in settled for length in range(1, len(path) + 1))
            if is_new and not (detail["type"] == "missing" and path in meant.values()):
                said(detail, path, find(root, path), meant.get(path), report)
            settled.add(path)
            _settle(detail["type"], path, root)
    return None


def _settle(kind: str, path: Path, root: Node) -> None:
    """Take a wrong value out, or put something harmless where one must stand.

    Items of a list keep their places, since places are found by path.
    """
    parent, last = find(root, path[:-1]), path[-1] if path else ""
    if kind == "missing" and isinstance(parent.value, dict) and isinstance(last, str):
        parent.value[last] = _stand_in(parent, path)
        if last == "spec":  # without settings there is no asking what the type would want
            parent.value["type"] = parent.become(UNSAID)
    elif isinstance(parent.value, dict):
        parent.value.pop(str(last), None)
    elif isinstance(parent.value, list) and isinstance(last, int) and last < len(parent.value):
        item = parent.value[last]
        if kind in _MAP_WANTED:
            parent.value[last] = item.become({})
        elif kind == "string_type" and item.value != UNSAID:
            parent.value[last] = item.become(UNSAID)
        else:
            _settle("", path[:-1], root)


_MAP_WANTED = frozenset(("model_type", "model_attributes_type", "dict_type"))


def _stand_in(parent: Node, path: Path) -> Node:
    """Return what stands for a missing value: names stay apart, nothing else is claimed."""
    number = next((part for part in reversed(path) if isinstance(part, int)), 0)
    stand_ins: dict[str, Node] = {
        "name": parent.become(f"{UNSAID}{number}"),
        "step": parent.become(f"{UNSAID}{number}"),
        "spec": parent.become({}),
        "metadata": parent.become({}),
        "collection": parent.become([]),
        "max": parent.become(1),
    }
    return stand_ins.get(str(path[-1]), parent.become(UNSAID))
