"""Let the garbage collector rest while something large is built. Frees nothing itself."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def steady() -> Iterator[None]:
    """Pause the collector: what is built only grows, and scanning it again and again is square."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
