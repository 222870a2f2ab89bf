"""One module has all words: a word that is added there is known to all, and none gets lost."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.floorplan import schema_text
from noetl_mcp.bim.floorplan.examples import EXAMPLES
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.tools import TOOLS
from noetl_mcp.bim.floorplan.validate import validate
from noetl_mcp.bim.floorplan.words import WORDS, Words

ROOT = Path(__file__).parents[3]
LANDED = Path(__file__).with_name("words_of_the_last_landing.json")

ROOM = "room A at (0,0) size (9 x 9) walls [top: solid]"


def on_floor(text: str) -> str:
    """Return a plan with something on its floor."""
    return f"floorplan floor f {{ {text} }}"


# A new word for every table: the table, the end of it in words.py, that with the word, and a plan.
NEW = {
    "glazed": ("wall_kinds", '"window", "open")', on_floor(ROOM.replace("solid", "glazed"))),
    "front": ("sides", '"bottom", "left")', on_floor(ROOM.replace("top", "front"))),
    "diagonal-of": ("directions", '"below-left-of",\n    )', on_floor(f"{ROOM} diagonal-of B")),
    "middle": ("alignments", '"right", "center")', on_floor(f"{ROOM} above B align middle")),
    "yd": ("units", '"in", "mm")', on_floor(f"{ROOM} height 3yd")),
    "sqyd": ("area_units", '("sqft", "sqm")', "floorplan config { area_unit: sqyd }"),
    "ladder": (
        "stair_shapes",
        '"custom",\n    )',
        on_floor("stair S at (0,0) shape ladder rise 3"),
    ),
    "ahead": ("hands", '= ("left", "right")', "floorplan connect A to B door swing: ahead"),
    "inwards": (
        "rotations",
        '"counterclockwise")',
        on_floor("stair S shape spiral rotation inwards outer-radius 2 rise 3"),
    ),
    "middle_rail": (
        "handrails",
        '"outer", "none")',
        on_floor("stair S shape straight toward top rise 3 handrail (middle_rail)"),
    ),
    "steel": (
        "stringers",
        '"closed", "glass")',
        on_floor("stair S shape straight toward top rise 3 stringers steel"),
    ),
    "carpet": (
        "material_parts",
        '"stringer", "handrail")',
        on_floor('stair S shape straight toward top rise 3 material { carpet: "red" }'),
    ),
    "gate": ("connection_kinds", '"double-door", "opening")', "floorplan connect A to B gate"),
    "sepia": ("themes", '"dark", "blueprint")', "floorplan config { theme: sepia }"),
    "iso": ("codes", '"ada", "none")', "floorplan config { stair_code: iso }"),
}
KEYS = {
    "door_swing": (
        "config_keys",
        'against which stairs are judged"),\n',
        '    ConfigKey("door_swing", "number", "how far doors open"),\n',
        "floorplan config { doorSwing: 3 }",
    ),
    "gloss": (
        "style_keys",
        '"0 is no metal, 1 is metal"),\n',
        '    StyleKey("gloss", "number", "how much it shines"),\n',
        "floorplan style s { gloss: 1 }",
    ),
}


def with_words(pieces: list[list[str]], **asked: Any) -> dict[str, Any]:
    """Return what everybody knows when words.py is written otherwise."""
    question = {"pieces": pieces, "texts": [], "modify": [], **asked}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("with_words.py"))],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def changed() -> dict[str, Any]:
    """Return what everybody knows when every table has one word more."""
    pieces = [
        [end, end[: end.rindex('"') + 1] + f', "{word}"' + end[end.rindex('"') + 1 :]]
        for word, (_, end, _) in NEW.items()
    ]
    pieces += [[end, end + line] for _, end, line, _ in KEYS.values()]
    texts = [row[-1] for row in (*NEW.values(), *KEYS.values())]
    walls = dict.fromkeys(("top", "right", "bottom", "left", "front"), "glazed")
    params = {"name": "B", "size": {"width": 2, "height": 2}, "walls": walls}
    place = {"direction": "diagonal-of", "reference": "A", "alignment": "middle"}
    operations = [
        {"action": "add_room", "params": params | {"position": {"x": 20, "y": 0}}},
        {"action": "add_room", "params": params | {"name": "C", "relativePosition": place}},
    ]
    return with_words(pieces, texts=texts, modify=[[on_floor(ROOM), operations]])


@pytest.mark.parametrize("word", [*NEW, *KEYS])
def test_a_new_word_is_read(word: str, changed: Mapping[str, Any]) -> None:
    text = (NEW | KEYS)[word][-1]

    assert word in changed["tables"][(NEW | KEYS)[word][0]]
    assert changed["errors"][text] == []
    assert read(text).errors or word in ("sepia", "iso", "sqyd")


@pytest.mark.parametrize("word", [*NEW, *KEYS])
def test_a_new_word_is_in_the_published_schemas(word: str, changed: Mapping[str, Any]) -> None:
    name = (NEW | KEYS)[word][0]
    words = changed["tables"][name]
    shown = [one for one in words if "_" in one or one == one.lower()] if name in KEYS else words

    assert f'"{word}"' in changed["schemas"]
    assert name == "config_keys" or sorted(shown) in changed["lists"]


@pytest.mark.parametrize("word", [*NEW, *KEYS])
def test_a_new_word_is_told_in_the_resource_and_in_the_docs(
    word: str, changed: Mapping[str, Any]
) -> None:
    assert re.search(rf"[`(| ]{word}[`)|: ]", changed["text"])
    assert f"`{word}`" in changed["page"]


def test_a_room_with_new_words_is_added_by_an_edit(changed: Mapping[str, Any]) -> None:
    (answer,) = changed["modified"]

    assert "front: glazed" in answer["dsl"]
    assert answer["changes"][0]["result"] == "applied"
    assert "unknown" not in json.dumps(answer.get("errors", []))


def test_a_word_that_is_taken_away_is_known_to_nobody() -> None:
    answer = with_words([['"solid", "door", "window", "open")', '"solid", "door", "window")']],
        texts=[on_floor(ROOM.replace("solid", "open"))],
    )  # fmt: skip

    assert [errors for errors in answer["errors"].values() if errors]
    assert sorted(("solid", "door", "window")) in answer["lists"]
    assert sorted(WORDS.wall_kinds) not in answer["lists"]


def test_a_parser_can_be_had_for_other_words() -> None:
    words = replace(WORDS, wall_kinds=(*WORDS.wall_kinds, "glazed"))
    text = on_floor(ROOM.replace("solid", "glazed"))

    assert not read(text, words).errors
    assert "glazed" in schema_text.schema_text(words)
    assert read(text).errors


def test_every_list_of_words_in_a_schema_is_a_table_or_has_none_of_its_words() -> None:
    ours = {"format": {"png", "svg", "dxf", "json", "ifc"}, "layout": {"sideBySide", "stacked"}}
    known = [set(words) for words in WORDS.tables.values()]
    for tool in TOOLS:
        for words in _enums(tool.input_schema):
            assert words in known or any(words <= other for other in ours.values()), words


def _enums(schema: Any) -> list[set[str]]:
    if isinstance(schema, list):
        return [words for one in schema for words in _enums(one)]
    if not isinstance(schema, dict):
        return []
    own = [set(schema["enum"])] if isinstance(schema.get("enum"), list) else []
    return own + [words for one in schema.values() for words in _enums(one)]


def test_no_word_may_go_unless_the_changelog_says_so() -> None:
    landed = json.loads(LANDED.read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert gone(landed, WORDS, changelog) == []


def test_the_list_of_landed_words_has_all_of_them() -> None:
    landed = json.loads(LANDED.read_text(encoding="utf-8"))

    missing = {
        name: sorted({*words} - {*landed.get(name, ())}) for name, words in WORDS.tables.items()
    }

    assert not any(missing.values()), f"put these into {LANDED.name}: {missing}"


@pytest.mark.parametrize(
    ("unreleased", "lost"),
    [
        ("### Removed\n- Walls that are `open`.", ["wall_kinds: open"]),
        ("### Removed\n- **BREAKING**: `sqm`.", ["wall_kinds: open"]),
        ("### Removed\n- **BREAKING**: walls that are `open`.", []),
    ],
)
def test_a_word_may_go_when_the_changelog_calls_that_breaking(
    unreleased: str, lost: list[str]
) -> None:
    landed = {name: list(words) for name, words in WORDS.tables.items()}
    fewer = replace(WORDS, wall_kinds=("solid", "door", "window"))
    changelog = f"# Changelog\n\n## [Unreleased]\n\n{unreleased}\n\n## [1.0.0]\n- BREAKING `open`\n"

    assert gone(landed, fewer, changelog) == lost


def gone(landed: Mapping[str, list[str]], words: Words, changelog: str) -> list[str]:
    """Return the words that are there no more though nothing announces it."""
    unreleased = changelog.partition("## [Unreleased]")[2].partition("\n## [")[0]
    entries = re.split(r"\n(?=- )", unreleased)
    announced = {
        word for entry in entries if "BREAKING" in entry for word in re.findall(r"`(.+?)`", entry)
    }
    return [
        f"{name}: {word}"
        for name, table in landed.items()
        for word in table
        if word not in words.tables.get(name, ()) and word not in announced
    ]


@pytest.mark.parametrize("word", WORDS.keywords)
def test_the_resource_tells_every_word(word: str) -> None:
    told = re.split(r"[^\w-]+", schema_text.schema_text())

    assert word in told


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.title)
def test_examples_are_valid_without_a_warning(example: Any) -> None:
    assert validate(example.text) == {"valid": True, "errors": []}
    assert example.text.strip() in schema_text.schema_text()


def test_the_pieces_of_plans_in_the_resource_are_read() -> None:
    blocks = re.findall(r"```text\n(.*?)```", schema_text.schema_text(), re.DOTALL)
    pieces = [block for block in blocks if not re.search("NAME|floorplan", block)]

    assert len(pieces) >= 5
    for piece in pieces:
        stands_alone = piece.startswith("connect")
        assert not read(f"floorplan {piece}" if stands_alone else on_floor(piece)).errors, piece
