"""Load the MCP SDK in half the time, for a server that an assistant waits for.

Most of the loading goes into what a server on a pipe never uses: the SDK's client and its own
framework, which its packages load first, and checks of some hundred messages, most of which
nobody will send. Both wait here until somebody asks for them; nothing is left out.
"""

import gc
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_PACKAGES = ("mcp", "mcp.server")


@contextmanager
def lean() -> Iterator[None]:
    """Load what is imported meanwhile in a lean way."""
    gc.disable()  # a third quicker without looks for what nobody has thrown away yet
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for some reads them all
    from pydantic import BaseModel

    before = BaseModel.model_config
    BaseModel.model_config = {**before, "defer_build": True}
    for name in _PACKAGES:
        if name not in sys.modules:
            _put_off(name)
    try:
        yield
    finally:
        BaseModel.model_config = before
        gc.freeze()
        gc.enable()


def _put_off(name: str) -> None:
    """Have a package there whose own lines run when one of its names is asked for."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return
    module = importlib.util.module_from_spec(spec)
    module.__class__ = _Later
    sys.modules[name] = module


class _Later(ModuleType):
    """A package whose modules can be imported, and which runs when it is asked for a name."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        if name.startswith("__") or spec is None or spec.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        object.__setattr__(self, "__class__", ModuleType)
        spec.loader.exec_module(self)
        return getattr(self, name)
