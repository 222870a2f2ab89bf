"""Check values against a JSON Schema of somebody else. Its library is loaded when needed.

The library searches with patterns that may go back without end, and the whole process would wait;
so its rules with patterns are replaced by some that search within bounded work, or say they cannot.
A `$ref` leads to a place in the same schema; nothing is ever fetched for one.
"""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import orjson

from noetl_mcp.cuts import beginning
from noetl_mcp.tasks.patterns import Patterns

MOST_TOLD = 5
_MOST_WORK = 20_000_000  # about a third of a second
_PATTERNS: ContextVar[Patterns] = ContextVar("patterns")


def misfits(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return what about a value does not fit a schema, in sentences; empty when all does."""
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    token = _PATTERNS.set(Patterns(_MOST_WORK))
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
    except OverflowError as broken:  # a pattern that counts too far
        return [f"the schema itself is broken: {broken}"]
    except _Unsearchable as problem:
        return [str(problem)]
    finally:
        _PATTERNS.reset(token)
    return [beginning(f"{one.json_path}: {one.message}", 500) for one in found[:MOST_TOLD]]


class _Unsearchable(Exception):
    """A pattern that cannot be searched for; in a 'not' it must not count as a mere misfit."""


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
    return _bounded(kind)(_without_dialects(told), registry=alone)


@lru_cache(maxsize=8)
def _bounded(kind: Any) -> Any:
    """Return a kind of schema whose patterns are searched for within bounded work."""
    from jsonschema import validators

    extend: Any = validators.extend
    own = {"pattern": _pattern, "patternProperties": _by_pattern}
    others = {"additionalProperties": _additional(kind.VALIDATORS["additionalProperties"])}
    if "unevaluatedProperties" in kind.VALIDATORS:
        left = kind.VALIDATORS["unevaluatedProperties"]
        others["unevaluatedProperties"] = _unevaluated(left)
    return extend(kind, {**own, **others})


def _without_dialects(schema: Any) -> Any:
    """Take out `$schema`: below it the library would go on with rules of its own."""
    if isinstance(schema, dict):
        kept = {k: v for k, v in schema.items() if k != "$schema" or not isinstance(v, str)}
        return {key: _without_dialects(inner) for key, inner in kept.items()}
    return [_without_dialects(one) for one in schema] if isinstance(schema, list) else schema


def _found(pattern: str, text: str) -> bool:
    found = _PATTERNS.get().matches(pattern, text)
    if found is None:
        raise _Unsearchable(
            f"looking for the pattern {beginning(pattern, 200)} would take too long"
        )
    return found


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "string") and not _found(pattern, value):
        yield _wrong(f"{value!r} does not match {pattern!r}")


def _by_pattern(validator: Any, patterns: Any, value: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, inner in patterns.items():
        for key, one in value.items():
            if _found(pattern, key):
                yield from validator.descend(one, inner, path=key, schema_path=pattern)


def _additional(stock: Any) -> Any:
    def additional(validator: Any, more: Any, value: Any, schema: Any) -> Iterator[Any]:
        """Leave the keys that patterns name to those, and the rest to the library."""
        patterns = schema.get("patternProperties")
        if patterns and validator.is_type(value, "object"):
            named = schema.get("properties", {})
            value = {
                key: one
                for key, one in value.items()
                if key in named or not any(_found(pattern, key) for pattern in patterns)
            }
            schema = {key: one for key, one in schema.items() if key != "patternProperties"}
        yield from stock(validator, more, value, schema)

    return additional


def _unevaluated(stock: Any) -> Any:
    def unevaluated(validator: Any, left: Any, value: Any, schema: Any) -> Iterator[Any]:
        """Refuse what the library would search for by itself."""
        if _has_patterns(schema):
            words = "'unevaluatedProperties' beside 'patternProperties' cannot be checked here"
            raise _Unsearchable(f"the schema: {words}")
        yield from stock(validator, left, value, schema)

    return unevaluated


def _has_patterns(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "patternProperties" in schema or any(map(_has_patterns, schema.values()))
    return isinstance(schema, list) and any(map(_has_patterns, schema))


def _wrong(message: str) -> Any:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


__all__ = ["misfits"]
