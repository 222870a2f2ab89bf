"""Make a cluster, and say how its server is to run. Starts nothing that stays."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from noetl_mcp.embedded.account import Account
from noetl_mcp.embedded.binaries import Binaries, environment
from noetl_mcp.embedded.failure import NotStarted
from noetl_mcp.embedded.greeting import USER
from noetl_mcp.embedded.places import Places

CONFIG_NAME = "server.conf"
OWN_CONFIG_NAME = "own.conf"
INITDB_SECONDS = 300

# Many small transactions on few hot tables, on a machine that has other things to do.
_SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "'192MB'",
    "work_mem": "'8MB'",
    "maintenance_work_mem": "'96MB'",
    "max_parallel_workers_per_gather": "0",  # a container's /dev/shm is often too small for it
    "jit": "off",
    "random_page_cost": "1.1",
    # Durable: what was answered is on the disk.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Checkpoints are rare: each makes every hot page be logged in full once more.
    "max_wal_size": "'4GB'",
    "checkpoint_timeout": "'15min'",
    "checkpoint_completion_target": "0.9",
    # Hot tables are small and change entirely within seconds.
    "autovacuum_naptime": "'5s'",
    "autovacuum_vacuum_threshold": "500",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_threshold": "500",
    "autovacuum_analyze_scale_factor": "0.05",
    "autovacuum_vacuum_cost_delay": "'1ms'",
    "autovacuum_vacuum_cost_limit": "2000",
    # Standard error is the log; the keeper bounds it. Values of parameters may be secrets.
    "logging_collector": "off",
    "log_destination": "'stderr'",
    "log_timezone": "'UTC'",
    "log_line_prefix": "'%m [%p] %a: '",
    "log_min_messages": "'warning'",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_lock_waits": "on",
    "log_checkpoints": "off",
    "timezone": "'UTC'",
}
_LINUX_SETTINGS = {"client_connection_check_interval": "'5s'"}  # ends what a dead user asked for
_NEWER_SETTINGS = {18: {"io_method": "'sync'"}}  # saves three processes; the hot data is in memory


def make_cluster(places: Places, binaries: Binaries, lock: int) -> None:
    """Run `initdb` beside the data folder's place, and move it there when it is complete.

    `initdb` is given the lock of the one who starts: if he dies, the next one waits until it ends.
    """
    for left_over in places.folder.glob("data.new-*"):
        shutil.rmtree(left_over, ignore_errors=True)
    if places.data.is_dir() and any(places.data.iterdir()):
        raise NotStarted(
            f"{places.data} holds something that is no cluster: look at it, or remove it with"
            " 'noetl-mcp db reset'"
        )
    new = Path(tempfile.mkdtemp(prefix="data.new-", dir=places.folder))
    if places.account:
        os.chown(new, places.account.uid, places.account.gid)
    try:
        said = _initdb(binaries, new, places.account, lock)
        if said.returncode:
            raise NotStarted(f"initdb failed: {_last_words(said.stderr) or said.returncode}")
        new.rename(places.data)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    _sync_folder(places.folder)


def server_command(places: Places, binaries: Binaries, socket_folder: Path) -> list[str]:
    """Write the server's configuration and return the command that runs it."""
    config = places.folder / CONFIG_NAME
    new = config.with_name(f"{CONFIG_NAME}.{os.getpid()}")
    own = (places.folder / OWN_CONFIG_NAME).exists()
    new.write_text(_config(binaries.major, own=own))
    new.chmod(0o644)
    new.replace(config)
    quoted = str(socket_folder).replace('"', '""')
    fixed = {
        "config_file": str(config),
        "listen_addresses": "",
        "unix_socket_directories": f'"{quoted}"',
        "unix_socket_permissions": "0700",
    }
    command = [binaries.program("postgres"), "-D", str(places.data)]
    for name, value in fixed.items():
        command += ["-c", f"{name}={value}"]
    return command


def _config(major: int, *, own: bool) -> str:
    settings = dict(_SETTINGS)
    if sys.platform == "linux":
        settings.update(_LINUX_SETTINGS)
    for since, some in _NEWER_SETTINGS.items():
        if major >= since:
            settings.update(some)
    lines = [f"{name} = {value}" for name, value in settings.items()]
    return "\n".join(
        [
            f"# Written anew at every start; put settings of your own into {OWN_CONFIG_NAME}.",
            "include 'data/postgresql.conf'",
            *lines,
            f"include '{OWN_CONFIG_NAME}'" if own else "",
        ]
    )


def _initdb(
    binaries: Binaries, folder: Path, account: Account | None, lock: int
) -> subprocess.CompletedProcess[str]:
    command = [
        binaries.program("initdb"),
        f"--pgdata={folder}",
        f"--username={USER}",
        "--encoding=UTF8",
        *_locale(binaries.major),
        "--auth-local=trust",
        "--auth-host=reject",
        "--data-checksums",
        "--no-instructions",
    ]
    if binaries.major >= 17 and sys.platform == "linux":
        command.append("--sync-method=syncfs")
    try:
        return subprocess.run(
            command,
            env=environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=INITDB_SECONDS,
            check=False,
            pass_fds=[lock],
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotStarted(f"initdb could not run: {error}") from None


def _locale(major: int) -> list[str]:
    # The order of texts must not change with the system below: indexes would be wrong.
    if major >= 17:
        return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return ["--locale=C.UTF-8" if sys.platform == "linux" else "--locale=C"]


def _last_words(text: str) -> str:
    return " ".join(line.strip() for line in text.strip().splitlines()[-3:])


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
