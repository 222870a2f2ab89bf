"""Open the installation for a command, and turn what can go wrong into a sentence and a code."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home

NOT_REACHABLE = 3
WRONG_USAGE = 2


class Unusable(click.ClickException):
    """Settings that cannot be meant."""

    exit_code = WRONG_USAGE


class Unreachable(click.ClickException):
    """There is no database to be had, or it went away."""

    exit_code = NOT_REACHABLE


@contextmanager
def opened_home() -> Iterator["Home"]:
    """Yield the installation with its database up; whatever is in the way becomes a sentence."""
    from noetl_mcp.assembly import opened

    with told(), opened() as home:
        yield home


@contextmanager
def running_home() -> Iterator["Home | None"]:
    """Yield the installation as it is, nothing migrated; None while its database does not run."""
    from noetl_mcp.assembly import Home
    from noetl_mcp.settings import Settings

    with told():
        settings = Settings.load()
        if settings.dsn is not None:
            yield Home(settings, settings.dsn, embedded=False)
            return
        from noetl_mcp.embedded.operate import status

        found = status(settings.home)
        yield None if found.dsn is None else Home(settings, found.dsn, embedded=True)


@contextmanager
def told() -> Iterator[None]:
    """Turn what can go wrong with settings and databases into a sentence and an exit code."""
    from noetl_mcp.database import Error, NotReachable, WrongSchema, is_lost
    from noetl_mcp.embedded.failure import NotStarted
    from noetl_mcp.settings import WrongSetting

    try:
        yield
    except WrongSetting as error:
        raise Unusable(str(error)) from None
    except (NotReachable, NotStarted) as error:
        raise Unreachable(str(error)) from None
    except WrongSchema as error:
        raise click.ClickException(str(error)) from None
    except Error as error:
        if not is_lost(error):
            raise
        raise Unreachable(f"the database went away: {' '.join(str(error).split())}") from None


__all__ = ["Unreachable", "Unusable", "opened_home", "running_home", "told"]
