"""A plan may begin with a frontmatter, as YAML or as signs of the language."""

import pytest

from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.tree import Number, Plan, Size


def plan_of(text: str) -> Plan:
    """Read a text that must be right."""
    reading = read(text)
    assert not reading.errors, reading.errors
    return reading.plan


def said(text: str) -> dict[str, object]:
    """Return what the frontmatter of a plan says."""
    return {found.key: found.value for found in plan_of(text).frontmatter}


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("1.0", "1.0"),
        ('"1.0"', "1.0"),
        ("'1.0.0'", "1.0.0"),
        ("1.0.0", "1.0.0"),
        ("1.0 # newest", "1.0"),
        ("abc", "abc"),
        ("true", "true"),
    ],
)
def test_a_version_is_read_as_written(written: str, version: str) -> None:
    found = plan_of(f"---\nversion: {written}\n---\nfloorplan").version

    assert found is not None
    assert (found.text, found.kind) == (version, "frontmatter")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("head", ["", "# a plan\n\n", "\ufeff", "/* a */ "])
def test_lines_of_yaml_are_read(head: str, end: str) -> None:
    text = f"""{head}---
# about
title: Bob's "New" Home # draft
author: 'It''s me'
description: >
  two
  lines

floors: 2
draft: yes it is
done: true
tags:
- a
- b
---
floorplan
""".replace("\n", end)

    assert said(text) == {
        "title": 'Bob\'s "New" Home',
        "author": "It's me",
        "description": "two lines",
        "floors": 2,
        "draft": "yes it is",
        "done": True,
    }
    assert text[plan_of(text).start :].startswith("floorplan")


def test_signs_of_the_language_are_read_several_to_a_line() -> None:
    assert said("--- version: \"1.0\" title: 'a\nb' count: 2 open_: true --- floorplan") == {
        "version": "1.0",
        "title": "a\nb",
        "count": 2,
        "open_": True,
    }


def test_the_config_of_the_frontmatter_stands_behind_that_of_the_text() -> None:
    plan = plan_of(
        "---\nconfig:\n  theme: dark\n  wallThickness: 0.5\n  door_size: (3 x 7ft)\n"
        '  default_unit: "ft"\n  default_height: 9ft\n  fontFamily: Noto Sans\n---\n'
        "floorplan config { wall_thickness: 0.3 }"
    )

    assert plan.config is not None
    values = {found.key: found.value for found in plan.config.properties}
    assert list(values) == [
        "theme",
        "door_size",
        "default_unit",
        "default_height",
        "fontFamily",
        "wall_thickness",
    ]
    assert values["theme"] == "dark"
    assert values["default_unit"] == "ft"
    assert values["fontFamily"] == "Noto Sans"
    assert values["wall_thickness"] == 0.3
    assert isinstance(values["door_size"], Size)
    height = values["default_height"]
    assert isinstance(height, Number)
    assert (height.value, height.unit) == (9, "ft")


def test_values_of_the_frontmatter_know_where_they_stand() -> None:
    text = "---\ntitle: My Home # x\nconfig:\n  theme: 'dark'\n---\nfloorplan"

    plan = plan_of(text)

    assert plan.config is not None
    title, theme = plan.frontmatter[0], plan.config.properties[0]
    assert text[title.value_start : title.value_end] == "My Home"
    assert text[theme.value_start : theme.value_end] == "'dark'"
    assert theme.start < plan.start


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("---\n---\nfloorplan", 2, "empty"),
        ('---\nversion: "1.0"\nfloorplan', 3, "found 'floorplan'"),
        ("---\ntitle: a b\nfloorplan", 2, "Expected a text in quotes"),
        ("---\njust words\n---\nfloorplan", 2, "Expected 'key: value'"),
        ("---\ntitle: a b\n  more: c\n---\nfloorplan", 3, "'title' has a value already"),
        ("---\ntitle:\n---\nfloorplan", 2, "Expected a value for 'title'"),
        ("---\nconfig:\n  thme: dark\n---\nfloorplan", 3, "Did you mean 'theme'?"),
        ("---\nconfig:\n  theme\n---\nfloorplan", 3, "Expected 'key: value' under 'config:'."),
        ("---\nconfig:\n  theme: @\n---\nfloorplan", 3, "Expected a value for 'theme'"),
    ],
)
def test_what_is_wrong_with_a_frontmatter_is_told(text: str, line: int, message: str) -> None:
    reading = read(text)

    assert message in reading.errors[0].message
    assert reading.lines.place(reading.errors[0].start or 0)[0] == line


def test_the_plan_behind_a_broken_frontmatter_is_read() -> None:
    reading = read("---\njust words\n---\nfloorplan floor f { }")

    assert len(reading.errors) == 1
    assert reading.plan.floors[0].name.text == "f"
