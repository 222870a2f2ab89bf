"""The page of everything that can be set from outside, from the settings themselves."""

from generator.markdown import code, page, table
from noetl_mcp.catalog.keys import KEY_FILE, KEY_VARIABLE
from noetl_mcp.settings import CONFIG_NAME, SECRET_PREFIX, SETTINGS, Setting

_HEAD = f"""
Each is a variable of the environment, or a line of `{CONFIG_NAME}` in the folder that
[`NOETL_HOME`](#noetl_home) names; the environment comes first. A value that cannot be meant, or a
key that nobody knows, is refused with one sentence and exit code 2. No command shows a secret.

A variable that begins with `NOETL_` and is none of these is told on standard error with the nearest
name, and by `doctor`. One that is nearly `NOETL_READ_ONLY`, `NOETL_REQUIRE_CONFIRM`,
`NOETL_ALLOW_SHELL` or `NOETL_ENV_ALLOW` is refused with exit code 2: nobody is to believe in a
protection that is not there.

```toml
lease_seconds = 30
env_allow = ["LANG", "PROJECT"]
files = ["/srv/models"]
secret_llm_token = "…"
```

Yes and no may be written as `1` and `0`, `true` and `false`, `yes` and `no`, `on` and `off`. An
empty variable counts as none.
"""
_KEY = f"""
The keys that [stored credentials](../how-to/secrets.md#credentials) are sealed with: 32 random
bytes in base64, as `openssl rand -base64 32` prints them. There may be several, with commas
between; the first one seals, all of them open, so a key is changed by putting the new one in front.

- Type: text.
- Default: the file `{KEY_FILE}` in the home folder, which the first `credential set` makes. It may
  be readable by its owner only; else it is refused.
- Only in the environment.
"""
_NOTES = {
    "NOETL_LEASE_SECONDS": "What that means is told in "
    "[Recover from crashes](../how-to/recover-from-crashes.md).",
    "NOETL_REQUIRE_CONFIRM": "See [the gate](../how-to/gates.md#unconfirmed).",
    "NOETL_READ_ONLY": "See [the gate](../how-to/gates.md#read-only).",
    "NOETL_ALLOW_SHELL": "See [run programs](../how-to/run-programs.md).",
    "NOETL_FILES": "DuckDB, saves to files, and the scripts of `python` steps keep to them too. "
    "Without any, nothing is written, and only DuckDB steps that do not write read files: "
    "whatever the user who runs them may read.",
}
"""What else is worth saying."""
_OTHERS = (
    ("XDG_STATE_HOME", "where the home folder is made when `NOETL_HOME` is not set"),
    ("HOME", "the same, when that is not set either"),
)


def settings_page() -> str:
    """Return the page of every setting."""
    names = [*(setting.name for setting in SETTINGS), KEY_VARIABLE]
    says = [*(setting.says for setting in SETTINGS), "The keys of stored credentials."]
    listed = [
        (f"[`{name}`](#{_anchor(name)})", text) for name, text in zip(names, says, strict=True)
    ]
    others = [(code(name), text) for name, text in _OTHERS]
    return page(
        "Settings",
        _HEAD,
        table(("setting", ""), listed),
        *map(_setting, SETTINGS),
        f"## {KEY_VARIABLE}\n{_KEY}",
        "## Other variables",
        table(("variable", "meaning"), others),
        "Those about colour and width stand with [the command line](cli.md#environment).",
    )


def _anchor(name: str) -> str:
    return name.lower().replace("*", "")


def _setting(setting: Setting) -> str:
    key = f"`{setting.key}`"
    if setting.name == f"{SECRET_PREFIX}*":
        key = "`secret_token` for `NOETL_SECRET_TOKEN`, and so on"
    where = "Only in the environment." if setting.name == "NOETL_HOME" else f"In the file: {key}."
    facts = [f"- Type: {setting.type}.", f"- Default: {setting.default}.", f"- {where}"]
    told = " ".join(filter(None, (setting.says, _NOTES.get(setting.name))))
    return f"## {setting.name}\n\n{told}\n\n" + "\n".join(facts)
