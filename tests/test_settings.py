"""What can be set from outside, and what is refused."""

import dataclasses
import os
import subprocess
import sys
from datetime import timedelta
from itertools import takewhile
from pathlib import Path

import pytest

from noetl_mcp.checking import every_check
from noetl_mcp.settings import SETTINGS, Settings, WrongSetting, strange_names
from tests.cli.commands import noetl


def test_without_anything_set_everything_has_its_default(tmp_path: Path) -> None:
    settings = Settings.load({"NOETL_HOME": str(tmp_path)})

    assert settings == Settings(home=tmp_path)
    assert (settings.dsn, settings.pg, settings.broker) == (None, "auto", "postgres")
    assert settings.lease == timedelta(seconds=15)
    assert not any((settings.read_only, settings.require_confirm, settings.allow_shell))


def test_the_environment_is_read_in_its_types(tmp_path: Path) -> None:
    settings = Settings.load(
        {
            "NOETL_HOME": str(tmp_path),
            "NOETL_DSN": "postgresql://me@there/noetl",
            "NOETL_PG_BIN": "/opt/postgres/bin",
            "NOETL_PG": "system",
            "NOETL_BROKER": "amqp://guest@localhost",
            "NOETL_LEASE_SECONDS": "2.5",
            "NOETL_REQUIRE_CONFIRM": "1",
            "NOETL_READ_ONLY": "Yes",
            "NOETL_ALLOW_SHELL": "off",
            "NOETL_ENV_ALLOW": "HOME, LANG,",
            "NOETL_FILES": "/srv/models,/tmp/out",
        }
    )

    assert settings.dsn == "postgresql://me@there/noetl"
    assert settings.pg_bin == Path("/opt/postgres/bin")
    assert (settings.pg, settings.broker) == ("system", "amqp://guest@localhost")
    assert settings.lease == timedelta(seconds=2.5)
    assert (settings.require_confirm, settings.read_only, settings.allow_shell) == (
        True,
        True,
        False,
    )
    assert settings.env_allow == ("HOME", "LANG")
    assert settings.files == (Path("/srv/models"), Path("/tmp/out"))


def test_the_file_is_read_and_the_environment_is_read_over_it(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        'lease_seconds = 30\nread_only = true\nfiles = ["/srv/a"]\nenv_allow = "LANG"\n'
        'secret_token = "from the file"\nsecret_other = "kept"\n'
    )

    settings = Settings.load(
        {
            "NOETL_HOME": str(tmp_path),
            "NOETL_LEASE_SECONDS": "3",
            "NOETL_SECRET_TOKEN": "from the environment",
        }
    )

    assert settings.lease_seconds == 3
    assert settings.read_only
    assert settings.files == (Path("/srv/a"),)
    assert settings.env_allow == ("LANG",)
    assert dict(settings.secrets) == {"token": "from the environment", "other": "kept"}


def test_an_empty_variable_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("lease_seconds = 30\n")

    settings = Settings.load(
        {"NOETL_HOME": str(tmp_path), "NOETL_LEASE_SECONDS": "", "NOETL_DSN": " "}
    )

    assert (settings.lease_seconds, settings.dsn) == (30, None)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("NOETL_LEASE_SECONDS", "soon", "a number of seconds between 0.1 and 86400"),
        ("NOETL_LEASE_SECONDS", "0", "a number of seconds between 0.1 and 86400"),
        ("NOETL_LEASE_SECONDS", "nan", "a number of seconds between 0.1 and 86400"),
        ("NOETL_READ_ONLY", "maybe", "yes or no"),
        ("NOETL_PG", "docker", "auto, wheel or system"),
        ("NOETL_BROKER", "kafka://here", "postgres, amqp://, amqps://, redis:// or rediss://"),
        ("NOETL_DSN", "localhost", "a connection string"),
        ("NOETL_ENV_ALLOW", "HOME,1st", "names of environment variables"),
        ("NOETL_SECRET_A-B", "x", "a name of letters, digits and underscores"),
    ],
)
def test_a_wrong_value_is_one_sentence_that_names_it(
    tmp_path: Path, name: str, value: str, says: str
) -> None:
    with pytest.raises(WrongSetting) as refused:
        Settings.load({"NOETL_HOME": str(tmp_path), name: value})

    assert str(refused.value).startswith(f"{name} must ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("leese_seconds = 3", "did you mean 'lease_seconds'?"),
        ("NOETL_READ_ONLY = true", "did you mean 'read_only'?"),
        ('home = "/elsewhere"', "it is NOETL_HOME that says where the file is"),
        ("lease_seconds = [1]", "must be a number of seconds"),
        ("dsn = 5432", "must be text in quotes"),
        ("read_only = 2024-01-01", "must be a plain value"),
        ("env_allow = [1]", "must be a list of texts"),
        ("secret_token = 5", "must be text in quotes"),
        ("read_only =", "is not TOML"),
    ],
)
def test_a_wrong_line_of_the_file_is_refused_where_it_stands(
    tmp_path: Path, line: str, says: str
) -> None:
    (tmp_path / "config.toml").write_text(line + "\n")

    with pytest.raises(WrongSetting, match=r"config\.toml") as refused:
        Settings.load({"NOETL_HOME": str(tmp_path)})

    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NOETL_READONLY", "NOETL_READ_ONLY"),
        ("noetl_read_only", "NOETL_READ_ONLY"),
        ("NOETL_ONLY_READ", "NOETL_READ_ONLY"),
        ("NOETL_REQUIRE_CONFIRMATION", "NOETL_REQUIRE_CONFIRM"),
        ("NOETL_ALLOWSHELL", "NOETL_ALLOW_SHELL"),
        ("NOETL_SHELL_ALLOW", "NOETL_ALLOW_SHELL"),
        ("NOETL_ENV_ALLOWED", "NOETL_ENV_ALLOW"),
    ],
)
def test_a_misspelt_name_of_what_keeps_us_safe_is_refused(
    tmp_path: Path, name: str, meant: str
) -> None:
    environ = {"NOETL_HOME": str(tmp_path), name: "1"}

    with pytest.raises(WrongSetting) as refused:
        Settings.load(environ)

    assert str(refused.value) == f"{name} is no setting; did you mean {meant}?"
    assert strange_names(environ) == ()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("NOETL_DNS", "NOETL_DNS is no setting; did you mean NOETL_DSN?"),
        ("NOETL_LEASE_SECOND", "NOETL_LEASE_SECOND is no setting; did you mean NOETL_LEASE_SECON"),
        ("NOETL_SECRETS_TOKEN", "NOETL_SECRETS_TOKEN is no setting; did you mean NOETL_SECRET_TO"),
        ("NOETL_CREDENTIALS_KEY", "NOETL_CREDENTIALS_KEY is no setting; did you mean NOETL_CREDE"),
        ("NOETL_CONFIRM", "NOETL_CONFIRM is no setting; did you mean NOETL_REQUIRE_CONFIRM?"),
        ("NOETL_ENV", "NOETL_ENV is no setting"),
        ("NOETL_LOG_LEVEL", "NOETL_LOG_LEVEL is no setting"),
    ],
)
def test_any_other_strange_name_is_told_and_nothing_else(
    tmp_path: Path, name: str, says: str
) -> None:
    environ = {"NOETL_HOME": str(tmp_path), name: "hush"}

    (told,) = strange_names(environ)

    assert told.startswith(says)
    assert "hush" not in told
    assert Settings.load(environ) == Settings(home=tmp_path)


def test_what_is_known_empty_or_of_others_is_not_strange() -> None:
    environ = {setting.name: "1" for setting in SETTINGS} | {
        "NOETL_SECRET_TOKEN": "1",
        "NOETL_CREDENTIAL_KEY": "1",
        "NOETL_TEST_DSN": "1",
        "NOETL_MCP": "1",
        "NOETL_READONLY": " ",
        "READ_ONLY": "1",
        "NOETLREADONLY": "1",
    }

    assert strange_names(environ) == ()


def test_commands_that_need_settings_warn_once_and_refuse_what_is_unsafe(tmp_path: Path) -> None:
    home = str(tmp_path / "home")

    asked = noetl("db", "status", NOETL_HOME=home, NOETL_DNS="x")
    needless = noetl("rules", NOETL_HOME=home, NOETL_DNS="x")
    unsafe = noetl("credential", "list", NOETL_HOME=home, NOETL_READONLY="1")

    assert asked.err == "Warning: NOETL_DNS is no setting; did you mean NOETL_DSN?\n"
    assert needless.err == ""
    assert unsafe.code == 2
    assert unsafe.err == "Error: NOETL_READONLY is no setting; did you mean NOETL_READ_ONLY?\n"


def test_the_doctor_tells_strange_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_DNS", "x")

    before_the_disk = takewhile(lambda one: one.what != "disk", every_check())

    told = [(one.state, one.says) for one in before_the_disk if one.what == "settings"]
    assert told[0] == ("fine", f"home is {tmp_path}")
    assert ("doubtful", "NOETL_DNS is no setting; did you mean NOETL_DSN?") in told


def test_what_is_secret_is_never_shown(tmp_path: Path) -> None:
    environ = {
        "NOETL_HOME": str(tmp_path),
        "NOETL_SECRET_TOKEN": "s3cret",
        "NOETL_DSN": "postgresql://me:s3cret@there/noetl",
        "NOETL_BROKER": "amqp://me:s3cret@there",
    }

    shown = repr(Settings.load(environ))
    with pytest.raises(WrongSetting) as refused:
        Settings.load({**environ, "NOETL_DSN": "s3cret", "NOETL_BROKER": "s3cret"})

    assert "s3cret" not in shown
    assert "s3cret" not in str(refused.value)


def test_a_home_that_is_not_said_is_the_users_state_folder() -> None:
    root = os.geteuid() == 0

    usual = Settings.load({"HOME": "/nowhere/me"}).home
    moved = Settings.load({"HOME": "/nowhere/me", "XDG_STATE_HOME": "/nowhere/state"}).home

    assert usual == Path("/var/lib/noetl-mcp" if root else "/nowhere/me/.local/state/noetl-mcp")
    assert moved == Path("/var/lib/noetl-mcp" if root else "/nowhere/state/noetl-mcp")


def test_a_home_may_be_relative_and_have_any_name(tmp_path: Path) -> None:
    home = tmp_path / "with space, comma and é"

    settings = Settings.load({"NOETL_HOME": os.path.relpath(home)})

    assert settings.home == home


def test_the_table_names_every_setting_that_there_is() -> None:
    fields = {field.name for field in dataclasses.fields(Settings)}

    listed = {setting.key for setting in SETTINGS}

    assert listed == fields - {"secrets"} | {"secret_*"}
    assert all(setting.says.endswith(".") for setting in SETTINGS)


def test_settings_are_read_without_loading_anything_heavy() -> None:
    code = (
        "import sys, noetl_mcp.settings as s; s.Settings.load({'NOETL_HOME': '/nowhere/x'});"
        "print([m for m in ('psycopg', 'pydantic', 'tomllib', 'difflib') if m in sys.modules])"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"
