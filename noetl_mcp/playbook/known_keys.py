"""Which keys a place of a playbook knows, for messages and suggestions."""

import types
import typing
from functools import lru_cache

from pydantic import BaseModel

from noetl_mcp.playbook.model import Playbook
from noetl_mcp.playbook.node import Path


def known_keys(path: Path) -> tuple[str, ...]:
    """Return the keys that the model knows at a path."""
    return _known_below(tuple(part for part in path if isinstance(part, str)))


@lru_cache(maxsize=1_000)
def _known_below(keys: tuple[str, ...]) -> tuple[str, ...]:
    model = _model_at(keys)
    return keys_of(model) if model is not None else ()


def keys_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the keys of a model as they are written."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _model_at(path: Path) -> type[BaseModel] | None:
    model: type[BaseModel] | None = Playbook
    for part in path:
        if isinstance(part, int) or model is None:
            continue
        model = _field_model(model, part)
    return model


def _field_model(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    for name, field in model.model_fields.items():
        if key in (name, field.alias):
            return _model_in(field.annotation)
    return None


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if isinstance(annotation, (types.UnionType, types.GenericAlias)) or typing.get_args(annotation):
        for inner in typing.get_args(annotation):
            found = _model_in(inner)
            if found is not None:
                return found
    return None
