"""Put into words how a play back is not what was recorded. Prints nothing."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from noetl_mcp.worker.cassette_playing import Drift

_MOST_FIELDS = 8
_WIDEST = 60


def lines_of(drift: Sequence[Drift]) -> Iterator[str]:
    """Return a line for each thing that is not as it was recorded, and for each field of it."""
    for one in drift:
        name = f"{one.spot}" if one.call == 1 else f"{one.spot} (call {one.call})"
        if one.what == "not-recorded":
            yield f"drift: {name} makes a call of {one.task} that the cassette has not"
        elif one.what == "not-made":
            yield f"drift: {name} does not make its recorded call of {one.task}"
        else:
            yield f"drift: {name} asks {one.task} for something else than was recorded"
        for field in one.fields[:_MOST_FIELDS]:
            yield f"  {field.field}: {_shown(field.recorded)} was recorded, now {_shown(field.now)}"
        if len(one.fields) > _MOST_FIELDS:
            yield f"  … and {len(one.fields) - _MOST_FIELDS} more fields; --json shows all"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = orjson.dumps(value).decode()
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"


__all__ = ["lines_of"]
