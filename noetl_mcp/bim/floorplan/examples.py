"""Complete plans that show the language: small ones first. Each is valid, without a warning."""

from typing import NamedTuple


class Example(NamedTuple):
    """A plan, and what it shows."""

    title: str
    text: str


EXAMPLES = (
    Example(
        "One room",
        """%%{version: 1.0}%%
floorplan
  floor f1 {
    room Office at (0, 0) size (10 x 12) walls [top: solid, right: window, bottom: door, left: solid] label "main workspace"
  }
""",  # noqa: E501 -- the room is shown as it is usually written
    ),
    Example(
        "A flat: a size by name, rooms beside each other, doors, a front door",
        """%%{version: 1.0}%%
floorplan
  define bath (3 x 2.5)
  style wet { floor_color: "#d9ecf2" }
  config { default_unit: m, area_unit: sqm, wall_thickness: 0.2, default_height: 2.6 }

  floor ground height 3 {
    room Living at (0, 0) size (6 x 5) walls [top: window at 50% size (2.4 x 1.4), right: solid, bottom: solid, left: window]
    room Kitchen size (3.5 x 5) walls [top: window, right: solid, bottom: solid, left: solid] right-of Living
    room Hall size (6 x 2) walls [top: solid, right: solid, bottom: solid, left: solid] below Living
    room Bath size bath walls [top: solid, right: solid, bottom: window, left: solid] right-of Hall align top style wet
  }

  connect Hall.left to outside door at 50% size (1 x 2.1) opens into Hall
  connect Hall.top to Living.bottom double-door at 40%
  connect Living.right to Kitchen.left opening at 50% size (2 x full)
  connect Hall.right to Bath.left door at 50% swing: left
""",  # noqa: E501 -- the rooms are shown as they are usually written
    ),
    Example(
        "A room with rooms in it",
        """%%{version: 1.0}%%
floorplan
  floor f1 {
    room FlexArea at (0, 0) size (20 x 20) walls [top: open, right: solid, bottom: open, left: solid] composed of [
      sub-room Booth1 at (2, 2) size (3 x 3) walls [top: solid, right: solid, bottom: door, left: solid]
      sub-room Booth2 at (6, 2) size (3 x 3) walls [top: solid, right: solid, bottom: door, left: solid]
    ]
  }
""",  # noqa: E501 -- the rooms are shown as they are usually written
    ),
    Example(
        "Two floors with a stair and a lift",
        """---
version: "1.0"
title: House with a lift
config:
  default_unit: m
---
floorplan
  config { default_height: 2.8, stair_code: residential }

  floor ground height 3 {
    room Hall at (0, 0) size (6 x 8) walls [top: solid, right: window, bottom: solid, left: window]
    stair MainStair at (1, 1) shape straight toward bottom rise 3m width 1m riser 18cm tread 28cm handrail (both)
    lift Lift at (4, 1) size (1.6 x 1.8) doors (bottom)
  }

  floor first height 3 {
    room Landing at (0, 0) size (6 x 8) walls [top: window, right: solid, bottom: window, left: solid]
    stair MainStair at (1, 1) shape straight toward bottom rise 3m width 1m riser 18cm tread 28cm
    lift Lift at (4, 1) size (1.6 x 1.8) doors (bottom)
  }

  connect Hall.bottom to outside door at 50%
  vertical ground.MainStair to first.MainStair
  vertical ground.Lift to first.Lift
""",  # noqa: E501 -- the rooms are shown as they are usually written
    ),
)
