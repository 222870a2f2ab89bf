"""For each rule of a plan: a text that breaks it, and one like it that does not."""

from typing import NamedTuple

SOLID = "walls [top: solid, right: solid, bottom: solid, left: solid]"
A = f"room A at (0, 0) size (10 x 12) {SOLID}"
B = f"room B at (10, 0) size (8 x 6) {SOLID}"
AWAY = f"room B at (30, 0) size (8 x 6) {SOLID}"
TALL = "height 20ft"
DOOR = "connect A.right to B.left door at 50% opens into B"
ON_THE_WAY = "lift L at (10.5, 2) size (2 x 2)"


class Case(NamedTuple):
    """A rule's code, how a text breaks it, and how it would be right."""

    code: str
    wrong: str
    right: str


def plan(body: str, floor: str = "f", head: str = "") -> str:
    """Return a plan of one floor."""
    return f"%%{{version: 1.0}}%%\nfloorplan\n{head}\nfloor {floor} {{\n{body}\n}}\n"


def joined(connections: str, body: str = f"{A}\n{B}", head: str = "") -> str:
    """Return a plan of two rooms side by side, and connections."""
    return plan(body, head=head) + connections


def stairs(body: str, head: str = "") -> str:
    """Return a plan with a large room and stairs in it."""
    room = f"room A at (0, 0) size (60 x 60) {SOLID}"
    return plan(f"{room}\n{body}", head=f"config {{ default_unit: ft{head} }}")


def storeys(verticals: str, second: str = "lift L at (1, 1) size (3 x 3)") -> str:
    """Return a plan of three floors with lifts, and vertical connections."""
    lift = "lift L at (1, 1) size (3 x 3)"
    floors = "\n".join(
        f"floor f{level} {{ {A} {one} }}" for level, one in enumerate((lift, second, lift))
    )
    return f"%%{{version: 1.0}}%%\nfloorplan\n{floors}\n{verticals}"


def sub_rooms(inner: str) -> str:
    """Return a plan of a room with rooms in it."""
    return plan(f"room A at (5, 5) size (20 x 20) {SOLID} composed of [ {inner} ]")


def styled(properties: str) -> str:
    """Return a plan with a style."""
    return plan(A, head=f"style S {{ {properties} }}")


def configured(properties: str) -> str:
    """Return a plan with a config."""
    return plan(A, head=f"config {{ {properties} }}")


INNER = f"sub-room S at (0, 0) size (5 x 5) {SOLID}"
STRAIGHT = "stair S at (1, 1) shape straight toward top rise 10ft"
CUSTOM = "stair S at (1, 1) shape custom from top"

CASES: tuple[Case, ...] = (
    Case("no-version", f"floorplan floor f {{ {A} }}", plan(A)),
    Case("invalid-version", f'---\nversion: "abc"\n---\nfloorplan floor f {{ {A} }}', plan(A)),
    Case(
        "unsupported-version",
        f"%%{{version: 1.1}}%% floorplan floor f {{ {A} }}",
        f"%%{{version: 1}}%% floorplan floor f {{ {A} }}",
    ),
    Case("legacy-version", f"%%{{version: 0.9}}%% floorplan floor f {{ {A} }}", plan(A)),
    Case("no-position", plan(f"room A size (1 x 1) {SOLID}"), plan(A)),
    Case(
        "unknown-reference",
        plan(f"{A} room B size (1 x 1) {SOLID} right-of Q"),
        plan(f"{A} room B size (1 x 1) {SOLID} right-of A"),
    ),
    Case(
        "circular-position",
        plan(f"room A size (1 x 1) {SOLID} right-of B room B size (1 x 1) {SOLID} right-of A"),
        plan(f"{A} room B size (1 x 1) {SOLID} right-of A"),
    ),
    Case(
        "waits-for-unplaced",
        plan(
            f"room A size (1 x 1) {SOLID} right-of Q room B size (1 x 1) {SOLID} right-of C "
            f"room C at (0, 0) size (9 x 9) {SOLID} composed of [ {INNER} ] "
            f"room D size (1 x 1) {SOLID} right-of S"
        ),
        plan(f"room A size (1 x 1) {SOLID} right-of B room B size (1 x 1) {SOLID} right-of A"),
    ),
    Case("sub-room-without-position", sub_rooms(f"sub-room S size (1 x 1) {SOLID}"), plan(A)),
    Case(
        "sub-room-unknown-reference",
        sub_rooms(f"{INNER} sub-room T size (1 x 1) {SOLID} right-of A"),
        sub_rooms(f"{INNER} sub-room T size (1 x 1) {SOLID} right-of S"),
    ),
    Case(
        "sub-room-circular-position",
        sub_rooms(f"sub-room S size (1 x 1) {SOLID} right-of S"),
        sub_rooms(INNER),
    ),
    Case(
        "stair-unknown-reference",
        stairs("lift L size (1 x 1) right-of Q"),
        stairs("lift L size (1 x 1) below A"),
    ),
    Case(
        "stair-circular-position",
        stairs("lift L size (1 x 1) right-of M lift M size (1 x 1) right-of L"),
        stairs("lift L size (1 x 1) right-of M lift M size (1 x 1) at (3, 3)"),
    ),
    Case(
        "rooms-overlap",
        plan(f"{A} room B at (9.98, 11.98) size (5 x 5) {SOLID}"),
        plan(f"{A} room B at (9.995, 11.98) size (5 x 5) {SOLID}"),
    ),
    Case(
        "sub-rooms-overlap",
        sub_rooms(f"{INNER} sub-room T at (4, 4) size (5 x 5) {SOLID}"),
        sub_rooms(f"{INNER} sub-room T at (5, 0) size (5 x 5) {SOLID}"),
    ),
    Case(
        "sub-room-outside",
        sub_rooms(f"sub-room S at (16, 0) size (5 x 5) {SOLID}"),
        sub_rooms(f"sub-room S at (15, 15) size (5 x 5) {SOLID}"),
    ),
    Case("zero-size", plan(f"room A at (0, 0) size (0 x 3) {SOLID}"), plan(A)),
    Case("zero-size-lift", stairs("lift L at (1, 1) size (0 x 3)"), stairs("")),
    Case(
        "undefined-style",
        plan(f"{A} style Q"),
        plan(f"{A} style Q", head="style Q { roughness: 1 }"),
    ),
    Case(
        "undefined-default-style",
        configured("default_style: Q"),
        plan(A, head="style Q { roughness: 1 } config { default_style: Q }"),
    ),
    Case(
        "undefined-default-style-camel",
        configured("defaultStyle: Q"),
        plan(A, head="style Q { roughness: 1 } config { defaultStyle: Q }"),
    ),
    Case(
        "stair-undefined-style",
        stairs("lift L at (1, 1) size (3 x 3) style Q"),
        stairs("lift L at (1, 1) size (3 x 3)"),
    ),
    Case(
        "duplicate-style",
        plan(A, head="style Q { roughness: 1 } style Q { roughness: 0 }"),
        plan(A, head="style Q { roughness: 1 } style R { roughness: 0 }"),
    ),
    Case(
        "duplicate-definition",
        plan(A, head="define Q (1 x 1) define Q (2 x 2)"),
        plan(A, head="define Q (1 x 1) define R (2 x 2)"),
    ),
    Case(
        "undefined-variable",
        plan(f"room A at (0, 0) size Q {SOLID}"),
        plan(f"room A at (0, 0) size Q {SOLID}", head="define Q (1 x 1)"),
    ),
    Case("duplicate-room", plan(f"{A} room A at (20, 0) size (1 x 1) {SOLID}"), plan(f"{A} {B}")),
    Case("duplicate-floor", f"{plan(A)} floor f {{ {A} }}", f"{plan(A)} floor g {{ {A} }}"),
    Case(
        "duplicate-stair",
        stairs(f"{STRAIGHT} lift S at (30, 30) size (3 x 3)"),
        stairs(f"{STRAIGHT} lift L at (30, 30) size (3 x 3)"),
    ),
    Case(
        "shared-wall-conflict",
        plan(f"{A} room B at (10.4, 0) size (8 x 6) walls [left: window]"),
        plan(f"{A} room B at (10.6, 0) size (8 x 6) walls [left: window]"),
    ),
    Case(
        "height-mismatch",
        plan(f"{A} room B at (10, 0) size (8 x 6) height 9 {SOLID}"),
        plan(
            f"room A at (0, 0) size (10 x 12) height 9ft {SOLID} "
            f"room B at (10, 0) size (8 x 6) height 108in {SOLID}"
        ),
    ),
    Case(
        "opening-beyond-wall",
        plan("room A at (0, 0) size (10 x 12) walls [top: window at 11]"),
        plan("room A at (0, 0) size (10 x 12) walls [top: window at 9, left: window at 100%]"),
    ),
    Case(
        "opening-too-wide",
        plan("room A at (0, 0) size (10 x 12) walls [top: window size (11 x 4)]"),
        plan("room A at (0, 0) size (10 x 12) walls [top: window size (10 x 4)]"),
    ),
    Case(
        "openings-on-one-spot",
        plan("room A at (0, 0) size (20 x 12) walls [top: window at 50%, top: door at 55%]"),
        plan("room A at (0, 0) size (20 x 12) walls [top: window at 20%, top: door at 80%]"),
    ),
    Case(
        "connected-twice",
        joined("connect A.right to B.left door at 40% connect B.left to A.right door at 50%"),
        joined("connect A.right to B.left door at 40% connect B.left to A.right door at 51%"),
    ),
    Case(
        "connections-overlap",
        joined(
            "connect A.right to B.left door at 95% connect A.right to C.left double-door at 85%",
            f"{A} {B} room C at (11, 6) size (8 x 6) {SOLID}",
        ),
        joined(
            "connect A.right to B.left door at 50% connect A.right to C.left double-door at 50%",
            f"{A} {B} room C at (10, 6) size (8 x 6) {SOLID}",
        ),
    ),
    Case(
        "door-in-opening",
        joined(
            "connect A.right to B.left door",
            f"{A} room B at (10, 0) size (8 x 6) walls [left: door]",
        ),
        joined(
            "connect A.right to B.left opening",
            f"{A} room B at (10, 0) size (8 x 6) walls [left: door]",
        ),
    ),
    Case(
        "connection-wall-mismatch",
        joined(
            "connect A.right to B.left door",
            f"{A} room B at (10, 0) size (8 x 6) walls [left: door]",
        ),
        joined(
            "connect A.right to B.left door",
            f"{A} room B at (10, 0) size (8 x 6) walls [top: door]",
        ),
    ),
    Case(
        "connection-spans-floors",
        f"{plan(A)} floor g {{ {B} }} connect A.right to B.left door",
        f"{plan(A)} floor g {{ {A} {B} }} connect A.right to B.left door",
    ),
    Case(
        "no-shared-wall",
        joined("connect A.right to B.left door", f"{A} {AWAY}"),
        joined("connect A.right to B.left door"),
    ),
    Case(
        "connection-too-wide",
        joined("connect A.right to B.left door size (7 x 2)"),
        joined("connect A.right to B.left door size (6 x 2)"),
    ),
    Case(
        "connection-too-high",
        joined("connect A.right to B.left door size (3 x 7)"),
        joined("connect A.right to B.left door size (3 x 7)", head="config { default_unit: ft }"),
    ),
    Case(
        "connection-unknown-room",
        joined("connect A.right to Q.left door"),
        joined("connect A.left to outside door"),
    ),
    Case(
        "connection-percent",
        joined("connect A.right to B.left door at 101%"),
        joined("connect A.right to B.left door at 100%"),
    ),
    Case(
        "opens-elsewhere",
        joined("connect A.left to outside door opens into B"),
        joined("connect A.left to outside door opens into outside"),
    ),
    Case(
        "outer-door-too-wide",
        joined("connect A.left to outside door size (13 x 2)"),
        joined("connect A.left to outside door size (3 x 2)"),
    ),
    Case(
        "outer-doors-on-one-spot",
        joined("connect A.left to outside door at 40% connect outside to A.left door at 50%"),
        joined("connect A.left to outside door at 20% connect outside to A.left door at 80%"),
    ),
    Case(
        "connected-to-itself",
        joined("connect A.left to A.top door"),
        joined("connect A.left to outside door"),
    ),
    Case(
        "no-entry",
        joined("connect A.right to B.left door"),
        joined(
            "connect A.right to B.left door",
            f"room A at (0, 0) size (10 x 12) walls [right: door] {B}",
        ),
    ),
    Case(
        "unreachable-rooms",
        joined("connect A.left to outside door"),
        joined(
            "connect A.left to outside door",
            f"{A} room B at (10, 0) size (8 x 6) walls [left: open]",
        ),
    ),
    Case(
        "mixed-units",
        plan(f"room A at (0, 0) size (3m x 12ft) {SOLID}"),
        plan(f"room A at (0, 0) size (36in x 12ft) {SOLID}"),
    ),
    Case(
        "room-higher-than-floor",
        plan(f"room A at (0, 0) size (1 x 1) height 10 {SOLID}", floor="f height 9"),
        plan(f"room A at (0, 0) size (1 x 1) height 9ft {SOLID}", floor="f height 3m"),
    ),
    Case("high-riser", stairs(f"{STRAIGHT} riser 8in"), stairs(f"{STRAIGHT} riser 7.75in")),
    Case("shallow-tread", stairs(f"{STRAIGHT} tread 9in"), stairs(f"{STRAIGHT} tread 10in")),
    Case("narrow-stair", stairs(f"{STRAIGHT} width 2.9"), stairs(f"{STRAIGHT} width 3ft")),
    Case(
        "stair-wall-unknown-room",
        stairs(f"{CUSTOM} [flight 5 along Q.left] rise 3ft"),
        stairs(f"{CUSTOM} [flight 5 along A.left] rise 3ft"),
    ),
    Case(
        "code-riser",
        stairs(f"{STRAIGHT} riser 7.5in", head=", stair_code: ada"),
        stairs(f"{STRAIGHT} riser 7.5in", head=", stair_code: residential"),
    ),
    Case(
        "code-below",
        stairs(f"{STRAIGHT} width 3ft", head=", stair_code: commercial"),
        stairs(f"{STRAIGHT} width 3ft", head=", stair_code: none"),
    ),
    Case(
        "stair-outside-rooms",
        stairs("lift L at (61, 1) size (3 x 3)"),
        stairs("lift L at (60, 1) size (3 x 3)"),
    ),
    Case(
        "stairs-overlap",
        stairs(f"{STRAIGHT} lift L at (3, 1) size (3 x 3)"),
        stairs(f"{STRAIGHT} lift L at (4, 1) size (3 x 3)"),
    ),
    Case(
        "narrow-landing",
        stairs(f"{CUSTOM} [flight 5 width 4, turn left landing (3 x 5), flight 5 width 3] rise 9"),
        stairs(f"{CUSTOM} [flight 5 width 4, turn left landing (3 x 5), flight 5 width 4] rise 9"),
    ),
    Case("stair-without-position", stairs("lift L size (1 x 1)"), stairs("")),
    Case(
        "stair-without-rise",
        stairs("stair S at (1, 1) shape straight toward top rise 0"),
        stairs(STRAIGHT),
    ),
    Case(
        "vertical-unknown-element",
        storeys("vertical f0.L to f1.Q"),
        storeys("vertical f0.L to f1.L"),
    ),
    Case(
        "vertical-misplaced",
        storeys("vertical f0.L to f1.L", "lift L at (1, 1.6) size (3 x 3)"),
        storeys("vertical f0.L to f1.L", "lift L at (1, 1.5) size (3 x 3)"),
    ),
    Case(
        "vertical-skips-floors",
        storeys("vertical f0.L to f2.L"),
        storeys("vertical f0.L to f1.L to f2.L"),
    ),
    Case("door-over-stair", joined(DOOR, f"{A}\n{B}\n{ON_THE_WAY}"), joined(DOOR)),
    Case(
        "doors-cross",
        joined(f"{DOOR}\nconnect B.top to outside door at 0%"),
        joined(f"{DOOR}\nconnect B.top to outside door at 100%"),
    ),
    Case(
        "vertical-on-one-floor", storeys("vertical f0.L to f0.L"), storeys("vertical f0.L to f1.L")
    ),
    Case(
        "redundant-size",
        configured("door_size: (3 x 7), door_width: 3"),
        configured("door_width: 3"),
    ),
    Case(
        "redundant-dark-mode",
        configured("theme: dark, darkMode: true"),
        configured("darkMode: true"),
    ),
    Case("color-format", styled('floor_color: "#fff"'), styled('floor_color: "#FfF012"')),
    Case("color-number", styled("wall_color: 5"), styled('wall_color: "#000000"')),
    Case("share-range", styled("roughness: 1.5"), styled("roughness: 1")),
    Case("share-text", styled('metalness: "much"'), styled("metalness: 0")),
    Case("texture-number", styled("wall_texture: 4"), styled('wall_texture: "wood.jpg"')),
    Case("unit-number", configured("default_unit: 5"), configured("default_unit: mm")),
    Case("unit-name", configured("default_unit: yards"), configured("default_unit: in")),
    Case("font-size", configured("font_size: 0"), configured("font_size: 0.8")),
    Case("config-value", configured("theme: neon"), configured("theme: blueprint")),
    Case("repeated-key", configured("font_size: 1, fontSize: 2"), configured("font_size: 1")),
    Case(
        "more-of-the-same",
        plan(" ".join(f"room R{i} at (0, 0) size (1 x 1) {SOLID}" for i in range(50))),
        plan(" ".join(f"room R{i} at (0, 0) size (1 x 1) {SOLID}" for i in range(20))),
    ),
)
