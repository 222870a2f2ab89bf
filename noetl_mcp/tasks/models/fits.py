"""Check values against a JSON Schema of somebody else. Its library is loaded when needed.

A `$ref` leads to a place in the same schema; nothing is ever fetched for one.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

MOST_TOLD = 5


def misfits(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return what about a value does not fit a schema, in sentences; empty when all does."""
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    try:
        found = sorted(
            _validator(orjson.dumps(schema)).iter_errors(value), key=lambda e: e.json_path
        )
    except SchemaError as broken:
        return [f"the schema itself is broken: {broken.message}"]
    except Unresolvable as broken:
        return [f"the schema itself is broken: its $ref '{broken.ref}' leads nowhere inside it"]
    except RecursionError:
        return ["the schema and the value are nested too deeply to be compared"]
    return [f"{one.json_path}: {one.message}"[:500] for one in found[:MOST_TOLD]]


@lru_cache(maxsize=200)
def _validator(schema: bytes) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.jsonschema import EMPTY_REGISTRY

    told = orjson.loads(schema)
    kind = validator_for(told, default=Draft202012Validator)
    kind.check_schema(told)
    alone: Registry[Any] = EMPTY_REGISTRY
    return kind(told, registry=alone)


__all__ = ["misfits"]
