"""`revit serve`: a building model on the wire of Revit, from a shell."""

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.commands import noetl
from tests.cli.test_run import Begun

PLAN = Path(__file__).parent.parent.parent / "docs" / "how-to" / "house.floorplan"
WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "ifcopenshell" else super().find_spec(name, path, target)

sys.meta_path[:] = [Without if one is PathFinder else one for one in sys.meta_path]
"""
WRITES = """
class Error(Exception): ...

def get_log():
    return ""

def open(path, format):
    path.write_text("ISO-10303-21;DATA;END-ISO-10303-21;")
"""
CRASHES = """
import os, signal

class Error(Exception): ...

def get_log():
    return ""

def open(path, format):
    os.kill(os.getpid(), signal.SIGSEGV)
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ifcopenshell", reason="building models need the extra 'bim'")
    file = tmp_path_factory.mktemp("models") / "house.ifc"
    assert noetl("floorplan", "convert", PLAN, "-o", file).code == 0
    return file


@contextmanager
def begun(*arguments: str | Path) -> Iterator[Begun]:
    process = Begun(
        [sys.executable, "-m", "noetl_mcp", "revit", "serve", *map(str, arguments), "--port", "0"],
        env={**os.environ, "NO_COLOR": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process


def said(server: Begun) -> tuple[str, str]:
    """Return the address and the whole line that was printed."""
    assert server.stderr is not None
    line = server.stderr.readline()
    url = re.search(r"http://\S+", line)
    assert url is not None, line + server.stderr.read()
    return url[0], line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_model_is_served_until_told_to_leave(house: Path, number: signal.Signals) -> None:
    before = house.read_bytes()
    with begun(house) as server:
        url, line = said(server)
        with httpx.Client(base_url=url, timeout=20) as client:
            health = client.get("/health").json()
            body = {"jsonrpc": "2.0", "id": "a", "method": "get_levels", "params": {}}
            answer = client.post("/rpc", json=body).json()
            ticket = client.post("/enqueue", json={"method": "get_walls"}).json()
            writes = client.post("/rpc", json={"method": "create_wall"}).json()["result"]

        server.send_signal(number)
        code = server.wait(30)

    assert (code, health["ok"], ticket["ok"]) == (0, True, True)
    assert f"answers for '{health['document']}'" in line
    assert (answer["id"], answer["result"]["ok"]) == ("a", True)
    assert (writes["ok"], writes["code"]) == (False, "UNSUPPORTED_ON_HEADLESS")
    assert house.read_bytes() == before


def test_a_model_that_takes_its_process_along_is_opened_again(house: Path) -> None:
    with begun(house) as server:
        url, _ = said(server)
        with httpx.Client(base_url=url, timeout=20) as client:
            first = client.get("/health").json()["serverPid"]
            os.kill(first, signal.SIGKILL)
            assert server.stderr is not None
            assert "killed by signal 9" in server.stderr.readline()
            said(server)
            second = client.get("/health").json()["serverPid"]
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0

    assert first != second


def test_a_model_that_takes_its_process_along_while_it_is_opened_is_given_up(
    tmp_path: Path,
) -> None:
    (tmp_path / "ifcopenshell.py").write_text(CRASHES)
    file = tmp_path / "house.ifc"
    file.write_text("ISO-10303-21;END-ISO-10303-21;")

    ran = noetl("revit", "serve", file, "--port", "0", PYTHONPATH=str(tmp_path))

    assert ran.code == 1
    assert "killed by signal 11; the model was not open yet" in ran.err


def test_a_file_that_is_written_while_it_is_opened_is_not_answered_for(tmp_path: Path) -> None:
    (tmp_path / "ifcopenshell.py").write_text(WRITES)
    file = tmp_path / "house.ifc"
    file.write_text("ISO-10303-21;END-ISO-10303-21;")

    ran = noetl("revit", "serve", file, "--port", "0", PYTHONPATH=str(tmp_path))

    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "it was changed while it was opened" in ran.err


def test_a_model_from_a_pipe_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("ifcopenshell", reason="building models need the extra 'bim'")

    ran = noetl("revit", "serve", "/dev/stdin", "--port", "0", stdin=b"ISO-10303-21;")

    assert (ran.code, "no file" in ran.err) == (1, True)


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="limits are read in /proc")
def test_as_many_clients_may_come_as_are_promised(house: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        with begun(house) as server:
            _, line = said(server)
            number = re.findall(r"\[(\d+)\]", line)[0]
            limits = Path(f"/proc/{number}/limits").read_text()
            server.send_signal(signal.SIGTERM)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    [allowed] = re.findall(r"Max open files +(\d+)", limits)
    assert int(allowed) >= min(1_000, before[1])


def test_a_file_that_is_no_model_is_told_in_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("ifcopenshell", reason="building models need the extra 'bim'")
    file = tmp_path / "notes.ifc"
    file.write_text("Things to do\n")

    ran = noetl("revit", "serve", file, "--port", "0")

    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert "notes.ifc" in ran.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "revit.example"])
def test_an_address_that_others_reach_is_refused(tmp_path: Path, host: str) -> None:
    file = tmp_path / "house.ifc"
    file.touch()

    ran = noetl("revit", "serve", file, "--host", host)

    assert ran.code == 2
    assert "this server has no tokens yet" in ran.err


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for file in (tmp_path / "none.ifc", tmp_path):
        ran = noetl("revit", "serve", file)

        assert (ran.code, ran.err.startswith("Error: cannot read")) == (1, True)


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    file = tmp_path / "house.ifc"
    file.touch()

    ran = noetl("revit", "serve", file, PYTHONPATH=str(tmp_path))

    assert ran.code == 1
    assert "needs the extra 'bim': pip install 'noetl-mcp[bim]'" in ran.err


def test_the_command_is_found_without_loading_a_server() -> None:
    code = (
        "import sys; from noetl_mcp.cli.main import commands;"
        "commands.get_command(None, 'revit').get_command(None, 'serve');"
        "print([n for n in ('starlette', 'uvicorn', 'ifcopenshell') if n in sys.modules])"
    )

    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
