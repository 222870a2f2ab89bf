"""Where the parts of an embedded cluster lie. Changes no mode of a folder it did not make.

A normal user's cluster lies in the home folder. Root's server runs under an account that can often
not reach that folder, so root's clusters lie in the state folder of the system, each named after
its home; where that one cannot be used, in a folder below the temp folder. The home remembers it.
"""

import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from noetl_mcp.embedded.account import Account, service_account
from noetl_mcp.embedded.failure import NotStarted
from noetl_mcp.embedded.greeting import SOCKET_NAME
from noetl_mcp.settings import SYSTEM_STATE

REMEMBERED = "cluster"
LONGEST_SOCKET = 103  # what macOS leaves; Linux has four bytes more


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and files of one cluster."""

    home: Path
    folder: Path
    account: Account | None

    @property
    def data(self) -> Path:
        """What `initdb` made."""
        return self.folder / "data"

    @property
    def users_lock(self) -> Path:
        """Held in common by everybody who uses the server."""
        return self.folder / "users.lock"

    @property
    def start_lock(self) -> Path:
        """Held by the one who starts, stops or removes."""
        return self.folder / "start.lock"

    @property
    def keeper_lock(self) -> Path:
        """Held by the keeper for its life."""
        return self.folder / "keeper.lock"

    @property
    def server_lock(self) -> Path:
        """Held by every process of the server: free means that none is left."""
        return self.folder / "server.lock"

    @property
    def stay(self) -> Path:
        """Is there when the server is to stay without users."""
        return self.folder / "stay"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "server.log"

    @property
    def keeper_log(self) -> Path:
        """What the keeper did."""
        return self.folder / "keeper.log"

    @property
    def socket_note(self) -> Path:
        """Says where the socket's folder is, whatever the temp folder of the reader."""
        return self.folder / "socket"

    def major(self) -> int | None:
        """Return the version of Postgres that the data is for; None when there is no data yet."""
        try:
            text = (self.data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return None
        return int(text) if text.isdigit() else None

    def noted_socket_folder(self) -> Path | None:
        """Return the folder of the socket, if there is one that only the server's user can use."""
        try:
            folder = Path(self.socket_note.read_text())
        except FileNotFoundError:
            return None
        return folder if _is_private(folder, self._owner) else None

    def socket_folder(self) -> Path:
        """Return the folder of the socket, making one when there is none."""
        noted = self.noted_socket_folder()
        if noted is not None:
            return noted
        folder = self._new_socket_folder()
        _write(self.socket_note, str(folder))
        return folder

    @property
    def _owner(self) -> int:
        return self.account.uid if self.account else os.geteuid()

    def _new_socket_folder(self) -> Path:
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:10]
        name = f"noetl-{os.geteuid()}-{digest}"
        for parent in temp_folders(self.account):
            if len(os.fsencode(parent / name / SOCKET_NAME)) + 9 > LONGEST_SOCKET:
                continue
            if "," in str(parent):  # to a client that is a list of hosts
                continue
            folder = parent / name
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                if _is_private(folder, self._owner):
                    return folder
                folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
            except OSError:
                continue
            if self.account:
                os.chown(folder, self.account.uid, self.account.gid)
            return folder
        raise NotStarted("there is no temp folder with a short path for the socket; set TMPDIR")


def find_places(home: Path, *, system: Path = SYSTEM_STATE) -> Places:
    """Return where the cluster of a home is, or would be; makes none of its parts."""
    account = service_account()
    if os.geteuid() != 0:
        return Places(home, home / "postgres", None)
    if account is None:
        raise NotStarted(
            "Postgres does not run as root, and there is no account 'postgres', 'noetl-pg' or"
            " 'nobody' to run it: make one of them, or set NOETL_DSN"
        )
    return Places(home, _remembered(home) or _system_folder(home, account, system), account)


def make_places(home: Path, *, system: Path = SYSTEM_STATE) -> Places:
    """Return where the cluster of a home is, with the folders above its data made."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        places = find_places(home, system=system)
        if places.account is None:
            _make(places.folder, 0o700)
            return places
        _make(places.folder, 0o711)
        _write(places.folder / "home", str(home))
        if _remembered(home) != places.folder:
            _write(home / REMEMBERED, str(places.folder))
    except OSError as error:
        raise NotStarted(
            f"the home folder {home} cannot be used: {error.filename}: {error.strerror}"
        ) from None
    if not places.account.reaches(places.folder):
        raise NotStarted(
            f"Postgres would run as '{places.account.name}', which cannot reach {places.folder}:"
            " let it in, or set NOETL_HOME to another folder"
        )
    return places


def temp_folders(account: Account | None) -> list[Path]:
    """Return the temp folders that the server's user can reach, the usual one first."""
    found = []
    for folder in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):
        usable = account.reaches(folder) if account else os.access(folder, os.W_OK | os.X_OK)
        if folder not in found and usable:
            found.append(folder)
    return found


def shared_folder(name: str, account: Account, system: Path) -> Path:
    """Return root's folder for one purpose, where that account can reach what is inside.

    It is below the system's state folder, or else in the temp folder: there it must be root's.
    """
    folder = system / name
    try:
        _make(system, 0o755)
        _make(folder, 0o755)
    except OSError:
        pass  # whether it can be used is asked below, and the temp folder is the answer
    if os.access(folder, os.W_OK) and account.reaches(folder):
        return folder
    for parent in temp_folders(account):
        folder = parent / f"noetl-mcp-{name}"
        try:
            _make(folder, 0o755)
        except OSError:
            continue
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and found.st_mode & 0o5:
            return folder
    raise NotStarted(f"neither {system} nor a temp folder can hold what Postgres needs")


def _system_folder(home: Path, account: Account, system: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16]
    return shared_folder("clusters", account, system) / digest


def _remembered(home: Path) -> Path | None:
    """Return the folder that the home names; believed only where root wrote both sides of it."""
    note = home / REMEMBERED
    try:
        folder = Path(note.read_text())
        owners = {path.lstat().st_uid for path in (note, folder, folder / "home")}
    except OSError:
        return None
    return folder if owners == {os.geteuid()} else None


def _is_private(folder: Path, owner: int) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == owner
        and stat.S_IMODE(found.st_mode) & 0o077 == 0
    )


def _make(folder: Path, mode: int) -> None:
    """Make a folder with this very mode, whatever the umask; leave one that is there alone."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return
    folder.chmod(mode)


def _write(path: Path, text: str) -> None:
    """Write a small file in one step, so that nobody reads half of it."""
    if path.is_file() and path.read_text() == text:
        return
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(text)
    new.replace(path)
