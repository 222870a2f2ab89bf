"""Message brokers of a test's own: started on a free port, gone afterwards."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def needed(program: str) -> str:
    """Return where a program is; skip the test when there is none, in CI fail it."""
    found = shutil.which(program)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{program} is not installed")
        pytest.skip(f"{program} is not installed")
    return found


@contextmanager
def redis(port: int) -> Iterator[str]:
    """Yield the URL of a Redis."""
    program = needed("redis-server")
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd="/tmp") as server:
        try:
            await_port(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.kill()


@contextmanager
def rabbitmq() -> Iterator[str]:
    """Yield the URL of a RabbitMQ."""
    needed("rabbitmq-server")
    programs = sorted(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server"))
    if not programs:
        pytest.skip("the programs of RabbitMQ are not where they usually are")
    ports = [free_port() for _ in range(3)]
    folder = Path(tempfile.mkdtemp(prefix="noetl-rabbit-"))
    environment = {
        **os.environ,
        "HOME": str(folder),
        "RABBITMQ_NODENAME": f"test{ports[0]}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(ports[0]),
        "RABBITMQ_DIST_PORT": str(ports[1]),
        "ERL_EPMD_PORT": str(ports[2]),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
    }
    with subprocess.Popen(
        [str(programs[-1])],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as server:
        try:
            await_port(ports[0], 60)
            yield f"amqp://guest:guest@127.0.0.1:{ports[0]}"
        finally:
            os.killpg(server.pid, 9)
            subprocess.run(["epmd", "-port", str(ports[2]), "-kill"], capture_output=True)
            shutil.rmtree(folder, ignore_errors=True)


def await_port(port: int, seconds: float = 20.0) -> None:
    """Wait until somebody listens."""
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < end, f"nobody listens on {port}"
            time.sleep(0.02)
        else:
            return
