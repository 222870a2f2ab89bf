"""The plugin of the how-to page is installed, examined and run; broken packages are told of."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.commands import Ran, noetl
from tests.postgres import database  # noqa: F401 - a fixture

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "write-a-task.md").read_text()
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: n, path: tests/n}\n"


def fence(language: str, number: int = 0) -> str:
    found = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    text: str = found[number]
    return text


def install(site: Path, module: str, text: str, project: str) -> None:
    """Do what an installer does: put the module and what is known of its package on the path."""
    told = tomllib.loads(project)["project"]
    info = site / f"{told['name'].replace('-', '_')}-{told['version']}.dist-info"
    info.mkdir(parents=True)
    (site / module).write_text(text)
    name, version = told["name"], told["version"]
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    points = told["entry-points"]["noetl_mcp.tasks"]
    lines = [f"{key} = {value}" for key, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[noetl_mcp.tasks]", *lines, ""]))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages with the one of the page in it."""
    folder = tmp_path / "site"
    install(folder, "note_task.py", fence("python"), fence("toml"))
    return folder


def steps(step: str) -> str:
    return f"{HEAD}workload: {{file: '', rooms: 3}}\nworkflow:\n{step}"


def run(site: Path, folder: Path, text: str, dsn: str, *words: str) -> Ran:
    book = folder / "book.yaml"
    book.write_text(text)
    return noetl(
        words[0],
        book,
        *words[1:],
        PYTHONPATH=f"{site}:{ROOT}",
        NOETL_DSN=dsn,
        NOETL_HOME=str(folder / "home"),
    )


def test_the_plugin_of_the_page_is_small() -> None:
    lines = [line for line in fence("python").splitlines() if line.strip()]

    assert len(lines) <= 36  # thirty and the imports that a formatter spreads


def test_the_plugin_of_the_page_runs_in_a_worker(
    site: Path,
    tmp_path: Path,
    database: str,  # noqa: F811 - a fixture
) -> None:
    file = tmp_path / "notes.txt"
    step = fence("yaml").replace("step: keep", "step: start")

    ran = run(site, tmp_path, steps(step), database, "run", "--set", f"file={file}", "--json")

    assert ran.code == 0, ran.err
    assert '"status": "completed"' in ran.out
    assert file.read_text() == "3 rooms were checked\n"


def test_its_settings_are_checked_before_anything_runs(site: Path, tmp_path: Path) -> None:
    text = steps("  - {step: start, type: note, file: a.txt, lien: b, confirm: true}\n")

    ran = run(site, tmp_path, text, "", "validate")

    assert ran.code == 1
    assert "lien" in ran.out + ran.err
    assert "did you mean 'line'" in ran.out + ran.err


def test_the_exam_of_the_page_is_passed(site: Path, tmp_path: Path) -> None:
    (tmp_path / "test_note.py").write_text(fence("python", 1))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_note.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{site}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (
            "import no_such_library\n",
            "cannot be loaded: ModuleNotFoundError: No module named 'no_such_library'",
        ),
        ("import sys\nsys.exit(3)\n", "cannot be loaded: SystemExit: 3"),
        ("SPEC = 7\n", "is int, not a TaskSpec"),
    ],
)
def test_a_package_that_breaks_is_told_of_where_its_type_is_used(
    site: Path, tmp_path: Path, module: str, why: str
) -> None:
    (site / "note_task.py").write_text(module)
    text = steps(fence("yaml").replace("step: keep", "step: start"))
    other = steps("  - {step: start, type: set, values: {a: 1}}\n")

    refused = run(site, tmp_path, text, "", "validate")
    fine = run(site, tmp_path, other, "", "validate")

    assert refused.code == 1
    said = " ".join((refused.out + refused.err).split())
    assert "NP226 broken-task-type: step 'start' has the type 'note'" in said
    assert f"note_task:SPEC {why}" in said
    assert fine.code == 0, fine.out + fine.err
