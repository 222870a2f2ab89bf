"""The option `--pool`, which names the pools whose steps workers take."""

import re
from collections.abc import Callable
from typing import Any

import click

from noetl_mcp.queue.pools import POOL


def pool_option(help_: str) -> Callable[[Any], Any]:
    """Return the option, with what it is said to be for."""
    return click.option(
        "--pool", "pools", multiple=True, metavar="NAME", help=help_, callback=_checked
    )


def _checked(
    context: click.Context, option: click.Parameter, pools: tuple[str, ...]
) -> tuple[str, ...]:
    for pool in pools:
        if not re.fullmatch(POOL, pool):
            raise click.BadParameter(
                f"'{pool}' is no name of a pool: letters, digits, '.', '_' and '-'", context, option
            )
    return pools


__all__ = ["pool_option"]
