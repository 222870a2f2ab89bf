"""Write values as text, JSON, JSON lines, YAML, CSV or bytes in base64, and read them. Pure.

Refuses what a format cannot hold rather than bending it; reads no more than the format says: a cell
of a CSV is a text.
"""

import codecs
import csv
import io
import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence

from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Json, plain
from noetl_mcp.playbook.source import Source, read
from noetl_mcp.playbook.yaml_text import LONGEST_SIMPLE_KEY, inline, key_text
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.folders import ending
from noetl_mcp.tasks.sql_values import json_value

_ENDINGS = {
    "csv": "csv",
    "json": "json",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "yaml": "yaml",
    "yml": "yaml",
}

_TABLES = {
    "arrow": "an Arrow file",
    "duckdb": "a DuckDB database",
    "feather": "an Arrow file",
    "parquet": "a Parquet file",
    "xlsx": "an Excel workbook",
}
_HALVES = frozenset(map(chr, range(0xD800, 0xE000)))
_SPECIAL = re.compile(r'[",\r\n]|^\s|\s$')


def read_as(path: str, said: str) -> str:
    """Return the format to read a file in: as said, or by its ending."""
    if said != "auto":
        return said
    _refuse_tables(path)
    return _ENDINGS.get(ending(path), "text")


def written_as(path: str, said: str, value: Json, *, texts_as_they_are: bool = True) -> str:
    """Return the format to write a value in: as said, or by the ending, or else JSON.

    When nothing is said, a text is the content itself, unless it is to be kept as a value.
    """
    if said != "auto":
        return said
    _refuse_tables(path)
    is_text = isinstance(value, str)
    if is_text and texts_as_they_are:
        return "text"
    return _ENDINGS.get(ending(path), "text" if is_text else "json")


def encoded(value: Json, form: str, encoding: str, columns: Sequence[str] | None = None) -> bytes:
    """Return a value as the bytes of a file; CSV rows go below `columns` that are there already."""
    match form:
        case "base64":
            return _from_base64(value)
        case "json":
            text = f"{_json(value, indent=2)}\n"
        case "jsonl":
            lines = value if isinstance(value, list) else [value]
            text = "".join(f"{_json(line)}\n" for line in lines)
        case "yaml":
            text = _whole_yaml(value)
        case "csv":
            text = _csv(value, columns)
        case _:
            text = value if isinstance(value, str) else _json(value)
    try:
        return text.encode(_codec(encoding))
    except UnicodeEncodeError:
        raise _unfit(f"the content cannot be written in {encoding}") from None


def decoded(content: bytes, form: str, encoding: str) -> Json:
    """Return the value that the bytes of a file stand for."""
    if form == "base64":
        return b64encode(content).decode()
    try:
        text = content.decode(_codec(encoding))
    except UnicodeDecodeError:
        said = f"the file is no text in {encoding}; read it with 'format: base64'"
        raise _unfit(said) from None
    match form:
        case "json":
            return _json_value(text, 1)
        case "jsonl":
            lines = enumerate(text.split("\n"), 1)
            return [_json_value(line, number) for number, line in lines if line.strip()]
        case "yaml":
            return _yaml_value(text)
        case "csv":
            return _csv_value(text)
        case _:
            return text


def header(content: bytes, encoding: str) -> list[str]:
    """Return the columns of a CSV from its beginning."""
    try:
        text = content.decode(_codec(encoding), "replace")
        return next(csv.reader(io.StringIO(text, newline="")), [])
    except csv.Error as problem:
        raise _unfit(f"the file is no CSV: {problem}") from None


def _refuse_tables(path: str) -> None:
    """Refuse files of tables in bytes: under such a name nobody expects a text."""
    form = _TABLES.get(ending(path))
    if form is not None:
        raise _unfit(
            f"'{path}' is to be {form}: read it with 'tables' of a duckdb step, write it with COPY "
            "of one or with 'type: transfer', or take its bytes with 'format: base64'"
        )


def _unfit(said: str) -> Failed:
    return Failed("wrong-format", said, retriable=False)


def _codec(encoding: str) -> str:
    try:
        found = codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, UnicodeError):
        raise _unfit(f"there is no encoding '{encoding}' of texts") from None
    return found.name


def _from_base64(value: Json) -> bytes:
    try:
        return b64decode("".join(str(value).split()), validate=True)
    except ValueError:
        raise _unfit("the content is not base64") from None


def _json(value: Json, indent: int | None = None) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except (TypeError, ValueError, RecursionError) as problem:
        raise _unfit(f"the content has no JSON form: {problem}") from None


def _json_value(text: str, line: int) -> Json:
    try:
        return json_value(text)
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno + line - 1}"
        raise _unfit(f"the file is not JSON, {where}: {problem.msg}") from None
    except RecursionError:
        raise _unfit("the JSON is nested too deeply") from None


def _whole_yaml(value: Json) -> str:
    try:
        return "".join(f"{line}\n" for line in _yaml(value, 0))
    except RecursionError:
        raise _unfit("the content is nested too deeply") from None


def _yaml(value: Json, depth: int) -> Iterable[str]:
    pad = "  " * depth
    if isinstance(value, dict) and value:
        for key, item in value.items():
            spelt = key_text(str(key))
            if len(spelt) > LONGEST_SIMPLE_KEY:
                raise _unfit("a key is too long for YAML; use JSON")
            yield from _yaml_item(f"{pad}{spelt}:", item, depth)
    elif isinstance(value, list) and value:
        for item in value:
            yield from _yaml_item(f"{pad}-", item, depth)
    else:
        yield f"{pad}{_yaml_scalar(value)}"


def _yaml_item(head: str, item: Json, depth: int) -> Iterable[str]:
    if isinstance(item, (dict, list)) and item:
        yield head
        yield from _yaml(item, depth + 1)
    else:
        yield f"{head} {_yaml_scalar(item)}"


def _yaml_scalar(value: Json) -> str:
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, float) and not math.isfinite(value):
        raise _unfit(f"{value} has no form in JSON or YAML")
    if isinstance(value, str) and not _HALVES.isdisjoint(value):
        raise _unfit("the content has half a surrogate pair in it")
    return inline(value)


def _yaml_value(text: str) -> Json:
    source = Source("the file", text)
    report = Report(source)
    read(source, report)
    for one in report:
        if one.severity == "error":
            raise _unfit(f"line {one.place.line} of the file: {one.message}")
    return None if source.root is None else plain(source.root)


def _csv(value: Json, columns: Sequence[str] | None) -> str:
    rows = value if isinstance(value, list) else [value]
    lists = [row for row in rows if isinstance(row, list)]
    maps = [row for row in rows if isinstance(row, Mapping)]
    if len(lists) == len(rows):
        return "".join(map(_line, lists))
    if len(maps) < len(rows):
        raise _unfit("a CSV takes maps, or lists, and not both")
    given = list(dict.fromkeys(key for row in maps for key in row))
    if columns is None:
        return _line(given) + "".join(_line([row.get(key) for key in given]) for row in maps)
    if strange := [key for key in given if key not in columns]:
        raise _unfit(f"the file has no column {', '.join(strange)}")
    return "".join(_line([row.get(key) for key in columns]) for row in maps)


def _line(cells: Sequence[Json]) -> str:
    line = ",".join(map(_cell, cells))
    return f"{line}\n" if line else '""\n'  # an empty line would be no row


def _cell(value: Json) -> str:
    text = "" if value is None else value if isinstance(value, str) else _json(value)
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def _csv_value(text: str) -> Json:
    try:
        columns, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    except csv.Error as problem:
        raise _unfit(f"the file is no CSV: {problem}") from None
    except ValueError:
        return []
    if len(set(columns)) < len(columns):
        raise _unfit("two columns of the file have one name")
    if any(len(row) > len(columns) for row in rows):
        raise _unfit("a row of the file is longer than its header")
    blank: list[Json] = [None] * len(columns)
    return [dict(zip(columns, [*row, *blank], strict=False)) for row in rows if row]


__all__ = ["decoded", "encoded", "header", "read_as", "written_as"]
