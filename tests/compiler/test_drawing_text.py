import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.compiler.picture.canvas import cells
from noetl_mcp.compiler.picture.drawing import Arrow, Box, Picture
from noetl_mcp.compiler.picture.mermaid import mermaid_of
from noetl_mcp.compiler.picture.text_graph import text_of


def diamond() -> Picture:
    boxes = (
        Box("start", "router"),
        Box("left", "http"),
        Box("right", "postgres", writes=True),
        Box("join", "python", hidden=True),
    )
    arrows = (
        Arrow("start", "left", "{{ ok }}"),
        Arrow("start", "right"),
        Arrow("left", "join"),
        Arrow("right", "join"),
    )
    return Picture("Diamond", boxes, arrows)


def chain(length: int) -> Picture:
    boxes = tuple(Box(f"step_{at}", "http") for at in range(length))
    arrows = tuple(Arrow(f"step_{at}", f"step_{at + 1}") for at in range(length - 1))
    return Picture("chain", boxes, arrows)


def test_a_small_workflow_is_drawn_with_boxes() -> None:
    assert (
        text_of(diamond())
        == """\
Diamond

        ┌─────────┐
        │ start   │
        │ router  │
        └────┬────┘
    ╭────────┴────────╮
   ok                 │
    ▼                 ▼
┌───────┐   ┌───────────────────┐
│ left  │   │ right             │
│ http  │   │ postgres · writes │
└───┬───┘   └─────────┬─────────┘
    ╰────────┬────────╯
             ▼
        ┌╌╌╌╌╌╌╌╌╌┐
        ╎ join    ╎
        ╎ python  ╎
        └╌╌╌╌╌╌╌╌╌┘"""
    )


def test_ascii_only_is_ascii_only() -> None:
    picture = Picture("Größe", (Box("Größe", "http"), Box("名前", "")), (Arrow("Größe", "名前"),))

    text = text_of(picture, ascii_only=True)

    assert text.isascii()
    assert "Gr\\xf6" in text
    assert "v" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    names = [f"a_step_with_a_rather_long_name_{at}" for at in range(70)]
    fork = tuple(Arrow(names[0], name, f"kind == '{name}'") for name in names[1:])
    boxes = tuple(Box(name, "http", writes=True) for name in names)

    for picture in (diamond(), chain(30), chain(200), Picture("f" * 300, boxes, fork)):
        assert max(cells(line) for line in text_of(picture, width).splitlines()) <= width


def test_a_long_workflow_is_a_numbered_list_without_endless_indent() -> None:
    lines = text_of(chain(120)).splitlines()

    assert len(lines) == 121
    assert lines[120].startswith("120  step_119")


def test_branches_are_indented_and_a_join_is_not() -> None:
    picture = diamond()
    tail = tuple(Box(f"t{at}", "http") for at in range(60))
    more = tuple(Arrow(f"t{at}", f"t{at + 1}") for at in range(59))
    whole = Picture("", (*picture.boxes, *tail), (*picture.arrows, Arrow("join", "t0"), *more))

    lines = text_of(whole).splitlines()

    assert lines[0].startswith(" 1  start")
    assert lines[1].startswith(" 2    left")
    assert lines[1].endswith("after 1 when ok")
    assert "[writes]" in lines[2]
    assert re.match(r" 4  join .*after 2, 3$", lines[3])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["", "x > 1"]))))
@settings(max_examples=150, deadline=None)
def test_any_graph_can_be_drawn_as_text(ends: list[tuple[int, int, str]]) -> None:
    boxes = tuple(Box(f"s{at}", "http") for at in range(10))
    arrows = tuple(Arrow(f"s{a}", f"s{b}", label) for a, b, label in ends)

    text = text_of(Picture("any", boxes, arrows), 100)

    assert all(box.name in text for box in boxes)


def test_mermaid_names_its_steps_and_marks() -> None:
    text = mermaid_of(diamond())

    assert text.startswith("flowchart TD\n")
    assert 's_left["left<br/><small>http</small>"]' in text
    assert 's_start -->|"ok"| s_left' in text
    assert "class s_right writing" in text
    assert "class s_join hidden_step" in text


def test_mermaid_dots_needs_and_reddens_errors() -> None:
    boxes = (Box("a", ""), Box("b", ""))
    arrows = (Arrow("a", "b"), Arrow("a", "b", kind="need"), Arrow("a", "b", kind="error"))

    text = mermaid_of(Picture("", boxes, arrows))

    assert "s_a -.-> s_b" in text
    assert 's_a -->|"on error"| s_b' in text
    assert "linkStyle 2 stroke:#dc2626" in text


@given(st.text(max_size=30), st.text(max_size=30))
@settings(max_examples=200, deadline=None)
def test_no_name_becomes_mermaid_syntax(name: str, label: str) -> None:
    boxes = (Box(name, name, note=label), Box("end", "router"))
    arrows = (Arrow(name, "end", label),) if name != "end" else ()

    lines = mermaid_of(Picture(name, boxes, arrows)).splitlines()

    quoted = re.compile(r'[^"`<>{}\[\]|\n]*')
    for line in lines[1:]:
        for inside in re.findall(r'"(.*)"', line):
            assert quoted.fullmatch(re.sub(r"<br/><small>|</small>", "", inside))
    nodes = [line for line in lines if re.match(r"    s_\w+(\[|\{\{)\"", line)]
    assert len(nodes) == len({box.name for box in boxes})


def test_an_id_stays_when_other_steps_change() -> None:
    before = mermaid_of(Picture("", (Box("a b", ""), Box("a_b", "")), ()))
    after = mermaid_of(Picture("", (Box("new", ""), Box("a_b", ""), Box("a b", "")), ()))

    ids = set(re.findall(r"^    (s_\w+)\[", before, re.M))
    assert len(ids) == 2
    assert ids < set(re.findall(r"^    (s_\w+)\[", after, re.M))
