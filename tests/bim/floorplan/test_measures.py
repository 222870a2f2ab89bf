"""A plan as JSON and as numbers: true units, known fields, places in the text."""

import pytest

from noetl_mcp.bim.floorplan.analyze import analyze
from noetl_mcp.bim.floorplan.to_json import converted

W = "walls [top: solid]"
A = f"room A at (0, 0) size (4 x 3) height 2.5 {W}"
METRIC = f"floorplan config {{ default_unit: m }} floor f {{ {A} }}"


def test_a_room_is_said_with_its_place_in_the_text_and_in_the_plan() -> None:
    text = (
        "floorplan\nfloor f height 9 {\n  room A at (1, 2) size (4 x 3) height 2.5 elevation -1 "
        'walls [top: window at 20% size (1 x 1) height 3] label "Hall"\n}\n'
    )

    assert converted(text)["floors"] == [
        {
            "id": "f",
            "index": 0,
            "rooms": [
                {
                    "name": "A",
                    "label": "Hall",
                    "x": 1,
                    "z": 2,
                    "width": 4,
                    "height": 3,
                    "walls": [
                        {
                            "direction": "top",
                            "type": "window",
                            "position": 20,
                            "isPercentage": True,
                            "width": 1,
                            "height": 1,
                            "wallHeight": 3,
                            "_sourceRange": {
                                "startLine": 2,
                                "startColumn": 63,
                                "endLine": 2,
                                "endColumn": 103,
                            },
                        }
                    ],
                    "roomHeight": 2.5,
                    "elevation": -1,
                    "area": 12,
                    "volume": 30,
                    "_sourceRange": {
                        "startLine": 2,
                        "startColumn": 2,
                        "endLine": 2,
                        "endColumn": 117,
                    },
                }
            ],
            "stairs": [],
            "lifts": [],
            "connections": [],
            "height": 9,
            "metrics": {
                "netArea": 12,
                "boundingBox": {"width": 4, "height": 3, "area": 12, "minX": 1, "minY": 2},
                "roomCount": 1,
                "efficiency": 1,
            },
            "_sourceRange": {"startLine": 1, "startColumn": 0, "endLine": 3, "endColumn": 1},
        }
    ]


def test_the_config_keeps_its_keys_but_flags_and_font_are_in_camel_case() -> None:
    config = (
        "wall_thickness: 0.5, doorWidth: 3, door_size: (3 x 7), default_unit: m, area_unit: sqm, "
        'dark_mode: true, font_family: "Arial", stairCode: ada, theme: dark'
    )

    assert converted(f"floorplan config {{ {config} }}")["config"] == {
        "wall_thickness": 0.5,
        "doorWidth": 3,
        "door_size": [3, 7],
        "default_unit": "m",
        "area_unit": "sqm",
        "darkMode": True,
        "fontFamily": "Arial",
        "stair_code": "ada",
        "theme": "dark",
    }


def test_connections_say_their_ends_their_size_and_their_floor() -> None:
    doors = "connect A.left to outside door size (1 x full) swing: left connect Q to Z door"
    found = converted(f"{METRIC} {doors}")["connections"]
    found[0].pop("_sourceRange")

    assert found == [
        {
            "fromRoom": "A",
            "fromWall": "left",
            "toRoom": "outside",
            "toWall": "unknown",
            "doorType": "door",
            "swing": "left",
            "width": 1,
            "fullHeight": True,
            "floorId": "f",
        }
    ]


def test_stairs_are_said_in_the_unit_of_the_plan() -> None:
    stair = (
        "stair S at (1, 1) shape custom from top [flight 5 width 4ft along A.left, turn left "
        'landing (3 x 4) 90°] rise 9 riser 6in handrail (both) material { tread: "oak" }'
    )
    text = f"floorplan config {{ default_unit: ft }} floor f {{ {A} {stair} }}"

    assert converted(text)["floors"][0]["stairs"] == [
        {
            "name": "S",
            "x": 1,
            "z": 1,
            "shape": {
                "type": "custom",
                "entry": "top",
                "segments": [
                    {
                        "type": "flight",
                        "steps": 5,
                        "width": 4,
                        "wallRef": {"room": "A", "wall": "left"},
                    },
                    {"type": "turn", "direction": "left", "landing": [3, 4], "angle": 90},
                ],
            },
            "rise": 9,
            "riser": 0.5,
            "handrail": "both",
            "material": {"tread": "oak"},
        }
    ]


def test_what_has_no_place_is_told_and_the_rest_is_there() -> None:
    answer = converted(f"floorplan floor f {{ {A} room B size (1 x 1) {W} right-of Q }}")

    assert [room["name"] for room in answer["floors"][0]["rooms"]] == ["A"]
    assert [one["type"] for one in answer["errors"]] == ["missing_reference"]


def test_a_metric_plan_is_measured_in_square_metres() -> None:
    answer = analyze(METRIC)

    assert answer["success"] is True
    assert answer["summary"] == {
        "floorCount": 1,
        "totalRooms": 1,
        "grossFloorArea": 12,
        "areaUnit": "sqm",
        "lengthUnit": "m",
    }
    assert answer["rooms"] == [
        {
            "name": "A",
            "floor": "f",
            "area": 12,
            "dimensions": {"width": 4, "height": 3},
            "volume": 30,
        }
    ]


@pytest.mark.parametrize(
    ("unit", "asked", "area", "volume"),
    [
        ("m", "sqm", 12, 30),
        ("m", "sqft", 129.166925, 1059.440002),
        ("ft", "sqft", 12, 30),
        ("ft", "sqm", 1.114836, 0.849505),
        ("cm", "sqm", 0.0012, 0.00003),
        ("in", "sqft", 0.083333, 0.017361),
    ],
)
def test_areas_and_volumes_are_true_in_the_unit_that_is_asked_for(
    unit: str, asked: str, area: float, volume: float
) -> None:
    text = f"floorplan config {{ default_unit: {unit} }} floor f {{ {A} }}"
    answer = analyze(text, asked)

    assert answer["rooms"][0]["area"] == pytest.approx(area)
    assert answer["rooms"][0]["volume"] == pytest.approx(volume)
    assert answer["floors"][0]["netArea"] == pytest.approx(area)
    assert answer["summary"]["grossFloorArea"] == pytest.approx(area)


def test_sub_rooms_are_listed_but_count_nothing_of_their_own() -> None:
    inner = f"composed of [ sub-room S at (0, 0) size (1 x 1) {W} ]"
    answer = analyze(f"floorplan floor f {{ {A} {inner} }}")

    assert answer["summary"]["totalRooms"] == 1
    assert answer["summary"]["grossFloorArea"] == 12
    assert [(room["name"], room.get("parent")) for room in answer["rooms"]] == [
        ("A", None),
        ("S", "A"),
    ]


def test_efficiency_is_the_share_of_the_box_around() -> None:
    rooms = f"{A} room B at (4, 3) size (4 x 3) {W}"

    assert analyze(f"floorplan floor f {{ {rooms} }}")["floors"] == [
        {
            "id": "f",
            "index": 0,
            "netArea": 24,
            "boundingBox": {"width": 8, "height": 6, "area": 48, "minX": 0, "minY": 0},
            "roomCount": 2,
            "efficiency": 0.5,
        }
    ]


def test_rooms_are_left_out_when_they_are_not_asked_for() -> None:
    assert "rooms" not in analyze(METRIC, room_details=False)


@pytest.mark.parametrize("text", ["floorplan floor", f"floorplan floor f {{ {A} style Q }}"])
def test_a_plan_with_errors_is_not_measured(text: str) -> None:
    answer = analyze(text)

    assert answer["success"] is False
    assert answer["errors"][0]["line"] == 1
    assert "summary" not in answer
