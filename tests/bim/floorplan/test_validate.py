"""A verdict has the shape that clients read, the messages they know, and never fails."""

import gc
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.analyze import analyze
from noetl_mcp.bim.floorplan.checks.registry import MOST
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.to_json import converted
from noetl_mcp.bim.floorplan.units import fixed, shown
from noetl_mcp.bim.floorplan.validate import validate
from noetl_mcp.bim.floorplan.words import KEYWORDS
from tests.bim.floorplan.breaking import CASES, SOLID, A, B, configured, joined, plan, stairs

OPENINGS = "walls [top: solid, right: door, bottom: solid, left: solid]"


def messages(text: str, kind: str = "warnings") -> list[str]:
    """Return the messages of a verdict."""
    return [one["message"] for one in validate(text).get(kind, [])]


def test_a_plan_without_fault_has_no_warnings_at_all() -> None:
    assert validate(plan(A)) == {"valid": True, "errors": []}


def test_a_text_that_cannot_be_read_has_its_syntax_errors_only() -> None:
    answer = validate(f"floorplan\nfloor f {{\n{A} style Q\nroom B at (0,0) size 9x9\n}}")

    assert not answer["valid"]
    assert {one["type"] for one in answer["errors"]} == {"parse"}
    assert answer["errors"][0]["line"] == 4
    assert "warnings" not in answer


def test_an_error_says_where_and_about_what() -> None:
    answer = validate(plan(f"{A} style Q"))

    assert answer == {
        "valid": False,
        "errors": [
            {
                "type": "connection",
                "message": "Room 'A' references undefined style 'Q'. Define it with 'style Q "
                "{ ... }'.",
                "line": 5,
                "column": 100,
                "roomName": "A",
                "code": "undefined-style",
            }
        ],
    }


def test_an_overlap_names_both_rooms() -> None:
    answer = validate(plan(f"{A} room B at (5, 5) size (8 x 6) {SOLID}"))

    assert answer["warnings"] == [
        {
            "type": "overlap",
            "message": 'Rooms "A" and "B" overlap',
            "line": 5,
            "column": 99,
            "rooms": ["A", "B"],
            "code": "rooms-overlap",
        }
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"floorplan floor f {{ {A} }}",
            "No grammar version declared. Assuming version 1.0.0. Add '%%{version: 1.0.0}%%' or "
            "YAML frontmatter with 'version: \"1.0.0\"' to suppress this warning.",
        ),
        (
            f"%%{{version: 0.9}}%% floorplan floor f {{ {A} }}",
            "Using legacy grammar version 0.9. Current version is 1.0.0. Consider running "
            "'floorplan migrate <file> --to 1.0.0' to upgrade.",
        ),
        (
            joined(
                "connect A.right to B.left door",
                f"{A} room B at (10, 0) size (8 x 6) walls [left: door]",
            ),
            "Wall type mismatch: A.right is 'solid' but B.left is 'door'. This may cause "
            "rendering issues in 3D viewer. Both walls should have the same type.",
        ),
        (
            plan(f"room A at (0, 0) size (10 x 12) {OPENINGS} {B}"),
            "Shared wall conflict: A.right is 'door' but B.left is 'solid'. Adjacent walls should "
            "have matching types for consistent rendering.",
        ),
        (
            plan(
                f"{A} room B at (10, 0) size (8 x 6) height 9ft {SOLID}",
                head="config { default_unit: ft, default_height: 10 }",
            ),
            "Height mismatch at shared wall: A (3.05m) and B (2.74m) have different heights. This "
            "may cause visual inconsistencies in 3D rendering.",
        ),
        (
            joined("connect A.right to B.left door size (3 x 7)"),
            "Connection height 7m exceeds room height 3.35m. The connection may not fit properly.",
        ),
        (
            joined("connect A.right to B.left door size (7.5ft x 2ft)"),
            "Connection width 7.5ft exceeds shared wall length 6.00. The connection may not fit "
            "properly.",
        ),
        (
            joined("connect A to B door"),
            "Connection from A.unknown to B.unknown connects walls that don't share a boundary. "
            "The door may not align properly with the rooms.",
        ),
        (
            plan(A, floor="f height 3"),
            "Room 'A' has height 3.35 which exceeds floor 'f' height of 3. This will cause the "
            "room to clip through the floor above in 3D rendering. Consider increasing the floor "
            "height or reducing the room height.",
        ),
        (
            f"{plan(A)} floor g {{ {B} }} connect A.right to B.left door",
            "Connection spans floors: 'A' is on floor 'f' but 'B' is on floor 'g'. Horizontal "
            "'connect' statements only render within a single floor — the renderer will silently "
            "drop this connection. Use a 'vertical f.<element> to g.<element>' statement to "
            "bridge floors.",
        ),
        (
            stairs("stair S at (1, 1) shape straight toward top rise 9 riser 8in"),
            "Stair 'S' has riser height 8.00\" which exceeds the typical maximum of 7.75\". "
            "Consider reducing riser height for code compliance.",
        ),
        (
            stairs(
                "stair S at (1, 1) shape straight toward top rise 9 headroom 6ft",
                head=", stair_code: ada",
            ),
            "[ADA] Stair 'S' headroom 72.00\" is below minimum 80\" for ada code.",
        ),
        (
            stairs("lift L at (70, 1.5) size (3 x 3)"),
            "Lift 'L' at position (70, 1.5) is not inside any room on floor 'f'. Consider moving "
            "the lift inside a room or extending room bounds.",
        ),
        (
            configured("dark_mode: true, theme: default"),
            "Both 'theme' and 'darkMode' are specified. The 'theme' property takes precedence, "
            "making 'darkMode' redundant.",
        ),
    ],
)
def test_warnings_have_the_words_that_clients_know(text: str, said: str) -> None:
    assert said in messages(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            joined("connect A.right to B.left door connect B.left to A.right door"),
            "Overlapping bidirectional connections between A and B. Remove one connection.",
        ),
        (
            joined(
                "connect A.right to B.left door at 12.5% connect A.right to C.left door at 20%",
                f"{A} {B} room C at (10, 1) size (8 x 6) {SOLID}",
            ),
            "Overlapping connections at position 12.5% on wall. Use different positions.",
        ),
        (
            f"%%{{version: 2.0}}%% floorplan floor f {{ {A} }}",
            "Unsupported grammar version: 2.0. This parser supports up to version 1.0.0. Please "
            "upgrade your parser or use an older grammar version.",
        ),
        (
            plan(A, head='style S { floor_color: "red" }'),
            "Invalid color format 'red' for floor_color. Use hex format like \"#RRGGBB\".",
        ),
        (
            plan(A, head="style S { metalness: 1.5 }"),
            "metalness must be between 0 and 1, got 1.5.",
        ),
        (configured("fontSize: 0"), "fontSize must be a positive number, got 0."),
        (
            stairs("stair S at (1, 1) shape custom from top [flight 3 along Q.top] rise 3"),
            "Stair 'S' references non-existent room 'Q' for wall alignment. Ensure the room "
            "exists on floor 'f'.",
        ),
        (
            f"{plan(A)} vertical f.X to g.Y",
            "Vertical connection references non-existent element 'g.Y'. Ensure the element exists "
            "on the specified floor.",
        ),
    ],
)
def test_errors_have_the_words_that_clients_know(text: str, said: str) -> None:
    assert said in messages(text, "errors")


def test_a_plan_that_names_feet_is_not_judged_in_metres() -> None:
    feet = "connect A.right to B.left door size (3 x 7) connect A.left to outside door"

    assert messages(joined(feet, head="config { defaultUnit: ft }")) == []


def test_doors_of_a_corridor_may_be_at_the_same_percentage() -> None:
    text = joined(
        "connect A.right to B.left door at 50% connect A.right to C.left door at 50%",
        f"{A} {B} room C at (10, 6) size (8 x 6) {SOLID}",
    )

    assert validate(text)["valid"] is True
    [error] = validate(text, raw=True)["errors"]
    assert error["message"].startswith("Overlapping connections at position 50% on wall.")


def test_raw_compares_numbers_without_their_units() -> None:
    text = joined("connect A.right to B.left door size (36in x 2)")

    assert "connection-too-wide" not in [w["code"] for w in validate(text)["warnings"]]
    assert "connection-too-wide" in [w["code"] for w in validate(text, raw=True)["warnings"]]


def test_a_stack_of_rooms_does_not_drown_the_answer() -> None:
    rooms = " ".join(f"room R{i} at (0, 0) size (9 x 9) {SOLID}" for i in range(300))
    answer = validate(plan(rooms))

    assert len([w for w in answer["warnings"] if w["code"] == "rooms-overlap"]) == MOST
    assert [w["code"] for w in answer["warnings"]].count("more-of-the-same") == 1


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (10.0, "10"),
        (0.1, "0.1"),
        (1e-5, "0.00001"),
        (1e-7, "1e-7"),
        (1e20, "100000000000000000000"),
        (-2.5, "-2.5"),
    ],
)
def test_numbers_are_written_as_in_javascript(number: float, text: str) -> None:
    assert shown(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(7.5, "7.50"), (0.125, "0.13"), (1.005, "1.00"), (2.7432, "2.74")]
)
def test_two_decimals_are_rounded_as_in_javascript(number: float, text: str) -> None:
    assert fixed(number) == text


def test_a_finding_without_a_room_says_nothing_about_rooms() -> None:
    from noetl_mcp.bim.floorplan.findings import Lines

    assert Finding("error", "parse", "no").as_json(Lines("")) == {"type": "parse", "message": "no"}


_pieces = st.sampled_from(
    [*KEYWORDS, "A", "B", "f", "{", "}", "(", ")", "[", "]", ",", ":", ".", "1", "2.5", '"t"', "%"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_pieces, max_size=60))
def test_no_heap_of_words_makes_it_fail(pieces: list[str]) -> None:
    text = "floorplan floor f { room A at (0, 0) size (1 x 1) walls [top: solid] } " + " ".join(
        pieces
    )

    assert validate(text)["valid"] in (True, False)
    assert isinstance(analyze(text)["success"], bool)
    assert "floors" in converted(text)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(CASES), min_size=1, max_size=3), st.integers(0, 10**6))
def test_no_plan_with_a_piece_missing_makes_it_fail(cases: list[Any], seed: int) -> None:
    choose = random.Random(seed)
    for case in cases:
        words = case.wrong.split(" ")
        del words[choose.randrange(len(words))]
        for raw in (False, True):
            answer = validate(" ".join(words), raw=raw)
            assert answer["valid"] == (not answer["errors"])


def test_a_thousand_verdicts_leave_nothing_behind() -> None:
    rooms = [f"room R{i} at ({i * 5}, 0) size (5 x 5) {SOLID}" for i in range(20)]
    text = joined("connect R1.right to R2.left door", "\n".join(rooms))
    for _ in range(20):
        validate(text)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        validate(text)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()

    assert grown < 100_000
