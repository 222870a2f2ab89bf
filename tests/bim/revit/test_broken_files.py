"""Files that are no models, or broken ones: refused or answered, and the server goes on."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noetl_mcp.bim.revit.headless.opening import Unreadable
from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.revit.foreign import Foreign


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no IFC file that can be read"),
        (b"garbage", "no IFC file that can be read"),
        (b"ISO-10303-21;\nHEADER;\nENDSEC;\nDATA;\nENDSEC;\nEND-ISO-10303-21;", "IFC"),
    ],
)
def test_what_is_no_model_is_not_opened(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ifc"
    path.write_bytes(content)

    with pytest.raises(Unreadable, match=says):
        Headless.opened(path)


def test_a_folder_a_missing_file_and_a_model_without_a_project_are_not_opened(
    tmp_path: Path,
) -> None:
    bare = Foreign()
    for one in bare.file.by_type("IfcProject"):
        bare.file.remove(one)

    for path in (tmp_path, tmp_path / "none.ifc", bare.written(tmp_path)):
        with pytest.raises(Unreadable) as raised:
            Headless.opened(path)
        assert str(path) in str(raised.value)


def mangled(text: bytes, random: Random) -> bytes:
    """Return a file of which something was changed, cut out, put in or put elsewhere."""
    kind, found = random.choice("mcpnrr"), bytearray(text)
    if kind == "m":
        for _ in range(random.choice((1, 5, 50))):
            found[random.randrange(len(found))] = random.choice(b"0123456789#$*(),.'")
    if kind == "c":
        at = random.randrange(len(found))
        del found[at : at + random.randrange(1, 40)]
    if kind == "p":
        at = random.randrange(len(found))
        found[at:at] = bytes(random.choice(b"0123456789#$*(),.'") for _ in range(3))
    if kind == "n":
        sizes = (b"1.E308", b"-1.E-308", b"0.", b"$")
        return re.sub(
            rb"-?\d+\.\d*",
            lambda at: random.choice(sizes) if random.random() < 0.03 else at.group(),
            text,
        )
    if kind == "r":
        names = [at.group() for at in re.finditer(rb"#\d+(?=[,)])", text)]
        others = (b"$", b"#999999", b"1.", b"'x'", random.choice(names), random.choice(names))
        share = random.choice((0.001, 0.01, 0.05))
        return re.sub(
            rb"#\d+(?=[,)])",
            lambda at: random.choice(others) if random.random() < share else at.group(),
            text,
        )
    return bytes(found)


def every_call(server: Headless, offered: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in offered:
        yield name, {}
    corner = {"x": 0, "y": 0, "z": 0}
    yield "query_elements", {"filters": {"bbox": {"min": corner, "max": corner}}}
    yield "query_elements", {"options": {"includeBoundingBox": True, "orderBy": "level"}}
    yield "search_elements", {"keyword": "a"}
    ids = list(server.document.elements)[:12]
    yield "get_element_info", {"elementIds": ids, "rich": True}
    yield "get_bounding_box", {"elementIds": ids}
    for number in ids:
        yield "get_wall_parameters", {"elementId": number}
        yield "get_wall_baseline", {"elementId": number}
        yield "get_room_params", {"elementId": number}


@pytest.mark.parametrize("seed", range(6))
def test_a_broken_file_is_refused_or_answered_and_never_ends_the_server(
    seed: int, house: Headless, offered: list[str], tmp_path: Path
) -> None:
    text = house.document.path.read_bytes()
    random = Random(seed)
    answered = defects = 0

    for _ in range(12):
        path = tmp_path / "broken.ifc"
        path.write_bytes(mangled(text, random))
        try:
            server = Headless.opened(path)
        except Unreadable:
            continue
        try:
            calls = list(every_call(server, offered))
        except Exception:  # noqa: BLE001 - the list itself cannot be read; every call says so
            calls = [(name, {}) for name in offered]
        for method, params in calls:
            answer = server.answer(method, params)
            json.dumps(answer, allow_nan=False)
            answered += answer["ok"]
            defects += answer["code"] == "MODEL_DEFECT" or "issues" in answer
            assert answer["ok"] or answer["msg"]

    assert answered > 50
    assert defects > 0
