"""Under whose name Postgres runs, as it refuses root. Makes no account, changes no mode."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

_READ, _ENTER = 4, 1
SERVICE_ACCOUNTS = ("postgres", "noetl-pg", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the system whose rights are few."""

    name: str
    uid: int
    gid: int

    def reaches(self, path: Path) -> bool:
        """Whether it may enter a folder, or read a file, as far as modes tell."""
        resolved = path.resolve()
        wanted = _ENTER if resolved.is_dir() else _READ
        above = all(self._may(folder, _ENTER) for folder in resolved.parents)
        return above and self._may(resolved, wanted)

    def _may(self, path: Path, right: int) -> bool:
        try:
            found = path.stat()
        except OSError:
            return False
        if found.st_uid == self.uid:
            right <<= 6
        elif found.st_gid == self.gid:
            right <<= 3
        return bool(stat.S_IMODE(found.st_mode) & right)


def service_account() -> Account | None:
    """Return whom root lends the server to; None when it simply runs as this user."""
    if os.geteuid() != 0:
        return None
    for name in SERVICE_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name, entry.pw_uid, entry.pw_gid)
    return None
