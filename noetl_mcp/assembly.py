"""Build things: the one place where settings become servers, connections and workers.

Nothing is built at import, and nothing else in the package fetches a thing from a global.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noetl_mcp.broker.guards import Guards
from noetl_mcp.broker.run import World
from noetl_mcp.database import Connection, TupleRow, connect, migrate
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.settings import Settings
from noetl_mcp.tasks.calls import Failed

if TYPE_CHECKING:
    from noetl_mcp.worker.engine import Terms
    from noetl_mcp.worker.worker import Equipment

SEAL_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Home:
    """An installation that is up: its settings, and the database behind it."""

    settings: Settings
    dsn: str
    embedded: bool

    def connect(
        self, purpose: str, *, statement_timeout: timedelta | None = timedelta(seconds=60)
    ) -> Connection[TupleRow]:
        """Return a new connection; its purpose is seen in the server's list of sessions."""
        return connect(
            self.dsn, application_name=f"noetl-mcp {purpose}", statement_timeout=statement_timeout
        )

    @property
    def world(self) -> World:
        """What templates may see of this machine."""
        allowed = self.settings.env_allow
        env = {name: os.environ[name] for name in allowed if name in os.environ}
        secrets = {name: Secret(text) for name, text in self.settings.secrets.items()}
        return World(env, secrets)

    @property
    def guards(self) -> Guards:
        """What holds for executions that are started here, whoever works on them."""
        return Guards(self.settings.read_only, self.settings.require_confirm)


@contextmanager
def opened(settings: Settings | None = None) -> Iterator[Home]:
    """Yield an installation with its database up and its schema fitting; used while open."""
    settings = settings or Settings.load(os.environ)
    if settings.dsn is not None:
        migrate(settings.dsn)
        yield Home(settings, settings.dsn, embedded=False)
        return
    from noetl_mcp.embedded.launcher import start

    with start(settings) as server:
        migrate(server.dsn)
        yield Home(settings, server.dsn, embedded=True)


@contextmanager
def open_database(settings: Settings | None = None) -> Iterator[Connection[TupleRow]]:
    """Yield a connection to the database of an installation."""
    with opened(settings) as home, home.connect("command") as connection:
        yield connection


def equipment(
    home: Home,
    task: Callable[[str], Any],
    *,
    terms: "Terms | None" = None,
    seal: bytes = b"",
    name: str | None = None,
) -> "Equipment":
    """Return what a worker is given."""
    from noetl_mcp.tasks.registry import known_tasks
    from noetl_mcp.worker.calling import Rules
    from noetl_mcp.worker.engine import Terms
    from noetl_mcp.worker.worker import Equipment

    settings = home.settings
    chosen = replace(terms or Terms(), lease=settings.lease)
    return Equipment(
        connect=lambda purpose: home.connect(purpose),
        specs=known_tasks(),
        task=task,
        lives=lives_folder(settings),
        world=home.world,
        rules=Rules(
            settings.require_confirm,
            settings.read_only,
            settings.lease_seconds,
            hashlib.sha256(seal).hexdigest()[:SEAL_DIGITS] + "-" if seal else "",
            seal.hex(),
        ),
        terms=chosen,
        credentials=lambda name: credential(home, name),
        name=name,
        keep=settings.keep,
    )


def lives_folder(settings: Settings) -> Path:
    """Return where the workers of this machine lock their lives."""
    return settings.home / "lives"


def credential(home: Home, name: str) -> Mapping[str, Any]:
    """Return a credential by its name, opened."""
    from noetl_mcp.catalog.credentials import Credentials, WrongCredential
    from noetl_mcp.catalog.keys import KEY_VARIABLE, BadKey, keys_at

    try:
        with home.connect("credentials") as connection:
            keys = keys_at(home.settings.home, os.environ.get(KEY_VARIABLE))
            found = Credentials(connection, keys).get(name)
    except (WrongCredential, BadKey) as problem:
        raise Failed("credential", str(problem), retriable=False) from None
    return found.as_auth()


def credential_names(home: Home) -> frozenset[str]:
    """Return the names of all credentials; none is opened."""
    from noetl_mcp.catalog.credentials import Credentials

    with home.connect("credentials") as connection:
        return frozenset(one.name for one in Credentials(connection, None).names())


__all__ = [
    "Home",
    "credential",
    "credential_names",
    "equipment",
    "lives_folder",
    "open_database",
    "opened",
]
