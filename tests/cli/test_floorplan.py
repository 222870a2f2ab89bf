"""Floor plans from a shell: drawn, checked, changed, measured, exported and watched."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.cli.commands import Ran, noetl

WALLS = "walls [top: solid, right: solid, bottom: solid, left: solid]"
PLAN = f"""%%{{version: 1.0}}%%
floorplan
  config {{ default_unit: m }}
  floor ground height 4 {{
    room Hall at (0,0) size (3 x 6) {WALLS}
    room Living at (3,0) size (6 x 6) {WALLS} label "Living room"
  }}
  floor first height 4 {{
    room Bed at (0,0) size (9 x 6) {WALLS}
  }}
  connect outside to Hall.bottom door at 50%
  connect Hall.right to Living.left door at 50%
"""
BROKEN = PLAN.replace("top: solid", "top: glass", 1)
RESIZE = {"action": "resize_room", "target": "Bed", "params": {"width": 8, "height": 6}}
GARAGE = {**RESIZE, "target": "Garage"}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    made = tmp_path / "flat.floorplan"
    made.write_text(PLAN)
    return made


def floorplan(*arguments: str | Path, stdin: bytes = b"") -> Ran:
    return noetl("floorplan", *arguments, stdin=stdin, NOETL_HOME="/nowhere")


# render


def test_the_ending_of_the_output_decides_what_is_drawn(plan: Path, tmp_path: Path) -> None:
    begins = {"png": b"\x89PNG", "svg": b"<svg", "dxf": b"  0\nSECTION"}

    for ending, begin in begins.items():
        out = tmp_path / f"flat.{ending}"
        ran = floorplan("render", plan, "-o", out)
        assert (ran.code, ran.out, ran.err) == (0, "", "")
        assert out.read_bytes().startswith(begin)


def test_a_plan_comes_and_its_drawing_goes_through_pipes() -> None:
    ran = floorplan("render", "-", "--format", "svg", "--theme", "dark", stdin=PLAN.encode())

    assert ran.code == 0
    assert ran.out.startswith("<svg")
    assert "Living room" in ran.out


def test_every_option_of_a_drawing_is_heard(plan: Path) -> None:
    plain = floorplan("render", plan, "--format", "svg").out
    options = [
        ("--width", "300"),
        ("--floor", "1"),
        ("--all-floors",),
        ("--all-floors", "--layout", "stacked"),
        ("--area",),
        ("--area", "--area-unit", "sqft"),
        ("--dimensions",),
        ("--dimensions", "--length-unit", "ft"),
        ("--summary",),
        ("--theme", "blueprint"),
    ]

    drawings = [floorplan("render", plan, "--format", "svg", *one).out for one in options]

    assert all(one.startswith("<svg") for one in drawings)
    assert len({plain, *drawings}) == 1 + len(options)


def test_a_plan_that_is_wrong_is_not_drawn_and_told_with_its_place(
    plan: Path, tmp_path: Path
) -> None:
    plan.write_text(BROKEN)

    ran = floorplan("render", plan, "-o", tmp_path / "flat.png")

    assert ran.code == 1
    assert "flat.floorplan:5:49" in ran.err
    assert "but found 'glass'" in ran.err
    assert not (tmp_path / "flat.png").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("-o", "flat.gif"), 2, "Name a --format, or end it in .png, .svg, .dxf"),
        (("-o", "/nowhere/flat.png"), 1, "cannot write '/nowhere/flat.png': No such file"),
        (("-o", "folder.png"), 1, "cannot write 'folder.png': Is a directory"),
        (("-o", "flat.floorplan", "--format", "svg"), 2, "is the plan itself"),
        (("-o", "flat.png", "--floor", "9"), 1, "There is no floor 9"),
        (("-o", "flat.png", "--floor", "1", "--all-floors"), 2, "--floor or --all-floors"),
        (("-o", "flat.png", "--width", "1"), 2, "1 is not in the range"),
        (("-o", "flat.png", "--theme", "neon"), 2, "'neon' is not one of"),
    ],
)
def test_a_drawing_that_cannot_be_made_is_refused(
    plan: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()

    ran = floorplan("render", "flat.floorplan", *arguments)

    assert ran.code == code
    assert told in ran.err
    assert plan.read_text() == PLAN
    assert sorted(one.name for one in tmp_path.iterdir()) == ["flat.floorplan", "folder.png"]


# validate


def test_good_plans_are_said_to_be_good(plan: Path) -> None:
    ran = floorplan("validate", plan, "--strict")

    assert (ran.code, ran.out.strip()) == (0, f"{plan}: nothing wrong")


def test_warnings_count_when_asked_to(plan: Path) -> None:
    plan.write_text(PLAN.replace("%%{version: 1.0}%%\n", ""))

    lenient, strict = floorplan("validate", plan), floorplan("validate", plan, "--strict")

    assert (lenient.code, strict.code) == (0, 1)
    assert lenient.out.endswith("1 warning\n")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "Expected 'floorplan', but the text ends here"),
        (b"\xff\xfe\x00", "it is no text in UTF-8 (byte 0)"),
        (b"\x00" * 100, r"but found '\x00'"),
        (b"#" * 9_000_000, "it is longer than 8,000,000 bytes"),
    ],
    ids=["empty", "binary", "zeros", "long"],
)
def test_what_is_no_plan_is_told(plan: Path, content: bytes, told: str) -> None:
    plan.write_bytes(content)

    ran = floorplan("validate", plan)

    assert ran.code == 1
    assert told in ran.out


def test_a_file_that_is_not_there_does_not_hide_the_others(plan: Path, tmp_path: Path) -> None:
    ran = floorplan("validate", tmp_path / "no.floorplan", tmp_path, plan)

    assert ran.code == 1
    assert "No such file or directory" in ran.out
    assert "Is a directory" in ran.out
    assert f"{plan}: nothing wrong" in ran.out


def test_findings_are_printed_as_the_tool_answers_them(plan: Path) -> None:
    ran = floorplan("validate", "-", "--json", stdin=BROKEN.encode())

    [error] = ran.json()["errors"]
    assert (ran.code, error["line"], error["column"]) == (1, 5, 49)


def test_standard_input_is_read_once(plan: Path) -> None:
    assert floorplan("validate", "-", "-", stdin=PLAN.encode()).code == 2


def test_a_caret_stands_below_its_sign_behind_signs_of_two_units() -> None:
    text = "floorplan\n floor f { room A at (0,0) /* \N{HOUSE BUILDING} */ sze (1 x 1) }"

    out = floorplan("validate", "-", stdin=text.encode()).out.splitlines()

    excerpt = next(at for at, line in enumerate(out) if line.startswith("2 |"))
    assert out[excerpt][out[excerpt + 1].index("^") :].startswith("sze")


def test_no_text_of_a_plan_orders_a_terminal_about() -> None:
    evil = "\x1b[31m\x1b]0;owned\x07\x9b2J"
    text = PLAN.replace("Living room", evil) + f' connect Nowhere{evil}.top to "{evil}" door'

    commands = ["validate", "validate --json", "analyze", "analyze --json", "convert"]
    for command in (*commands, "render --format svg", "convert --format dxf"):
        ran = floorplan(*command.split(), "-", stdin=text.encode())
        assert not set("\x1b\x07\x9b") & set(ran.out + ran.err)


# modify


def test_a_plan_is_changed_on_its_way_through(plan: Path) -> None:
    ran = floorplan("modify", plan, json.dumps([RESIZE]))

    assert ran.code == 0
    assert ran.out == PLAN.replace("size (9 x 6)", "size (8 x 6)")
    assert ran.err.strip() == "✓ resize_room Bed"
    assert plan.read_text() == PLAN


def test_a_plan_is_changed_in_its_place(plan: Path, tmp_path: Path) -> None:
    plan.chmod(0o640)
    plan.write_bytes(b"\xef\xbb\xbf" + PLAN.replace("\n", "\r\n").encode())
    operations = tmp_path / "operations.json"
    operations.write_text(json.dumps(RESIZE))

    ran = floorplan("modify", plan, f"@{operations}", "--in-place")

    changed = PLAN.replace("\n", "\r\n").replace("size (9 x 6)", "size (8 x 6)")
    assert (ran.code, ran.out) == (0, "")
    assert plan.read_bytes() == b"\xef\xbb\xbf" + changed.encode()
    assert stat.S_IMODE(plan.stat().st_mode) == 0o640


def test_nothing_is_written_when_an_operation_fails(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.floorplan"

    ran = floorplan("modify", plan, json.dumps([RESIZE, GARAGE]), "-o", out)

    assert (ran.code, ran.out) == (1, "")
    assert "✓ resize_room Bed" in ran.err
    assert '✗ resize_room Garage: Room "Garage" not found' in ran.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("operations", "code", "told"),
    [
        ("nonsense", 2, "OPERATIONS are no JSON"),
        ("7", 1, "'operations': this must be a list"),
        ('[{"action": "resize_rom"}]', 1, "did you mean 'resize_room'?"),
        ("@/nowhere.json", 1, "cannot read '/nowhere.json'"),
    ],
)
def test_operations_that_are_none_are_told(
    plan: Path, operations: str, code: int, told: str
) -> None:
    ran = floorplan("modify", plan, operations, "--in-place")

    assert ran.code == code
    assert told in ran.err
    assert plan.read_text() == PLAN


def test_no_operation_orders_a_terminal_about(plan: Path) -> None:
    evil = "\x1b]0;owned\x07\x9b2J"
    wrong: list[dict[str, object]] = [
        {**RESIZE, "target": evil},
        {**RESIZE, evil: 1},
        {"action": evil},
    ]

    for one in wrong:
        ran = floorplan("modify", plan, json.dumps([one]))
        assert ran.code == 1
        assert not set("\x1b\x07\x9b") & set(ran.out + ran.err)


# analyze and convert


def test_areas_are_told_in_the_plans_unit_or_another(plan: Path) -> None:
    metric, imperial = floorplan("analyze", plan), floorplan("analyze", plan, "--area-unit", "sqft")

    assert metric.out.endswith("3 rooms, 108 m² in all\n")
    assert "1162.5" in imperial.out
    assert "Hall" not in floorplan("analyze", plan, "--no-rooms").out
    assert floorplan("analyze", plan, "--json").json()["summary"]["grossFloorArea"] == 108


def test_a_plan_becomes_data_and_models(plan: Path, tmp_path: Path) -> None:
    ifc, dxf = tmp_path / "flat.ifc", tmp_path / "flat.dxf"

    assert floorplan("convert", plan).json()["floors"][0]["rooms"][1]["label"] == "Living room"
    assert floorplan("convert", plan, "-o", ifc).code == 0
    assert floorplan("convert", plan, "-o", dxf).code == 0
    assert ifc.read_bytes().startswith(b"ISO-10303-21;")
    assert dxf.read_bytes().startswith(b"  0\nSECTION")
    assert floorplan("convert", plan, "-o", tmp_path / "a.stl").code == 2
    assert floorplan("convert", plan, "--format", "ifc", "--storey-height", "0").code == 2


# watch


@contextmanager
def watching(plan: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "noetl_mcp", "floorplan", "watch", str(plan), *arguments],
        stderr=subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_with(stream: IO[str] | None, told: str) -> str:
    """Wait for a line; the end of the stream is the end of waiting."""
    assert stream is not None
    for line in stream:
        if told in line:
            return line
    raise AssertionError(f"nothing said {told!r}")


def test_a_saved_plan_is_drawn_anew_and_a_broken_one_leaves_the_last_drawing(plan: Path) -> None:
    out = plan.with_suffix(".svg")
    with watching(plan, "--format", "svg") as process:
        line_with(process.stderr, "drawn in")
        first = out.read_text()

        plan.write_text(PLAN.replace("Living room", "Saloon"))
        line_with(process.stderr, "drawn in")
        second = out.read_text()

        plan.write_text(BROKEN)
        line_with(process.stderr, "but found 'glass'")
        assert out.read_text() == second

        plan.unlink()
        line_with(process.stderr, "waiting for it")
        plan.write_text(PLAN)
        line_with(process.stderr, "drawn in")
        third = out.read_text()

        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]

    assert "Saloon" in second
    assert third == first
    assert (process.returncode, said.strip()) == (130, "stopped")
    assert sorted(one.name for one in plan.parent.iterdir()) == ["flat.floorplan", "flat.svg"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("no.floorplan",), 1, "cannot read 'no.floorplan': No such file"),
        ((".", "-o", "a.png"), 1, "cannot read '.': Is a directory"),
        (("-",), 2, "A FILE is watched"),
        (("flat.floorplan", "-o", "-"), 2, "A FILE is watched"),
        (("flat.floorplan", "-o", "flat.floorplan", "--format", "svg"), 2, "is the plan itself"),
        (("flat.floorplan", "-o", "/nowhere/a.png"), 1, "cannot write '/nowhere/a.png'"),
    ],
)
def test_what_cannot_be_watched_is_refused_at_once(
    plan: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    ran = floorplan("watch", *arguments)

    assert ran.code == code
    assert told in ran.err
    assert plan.read_text() == PLAN
