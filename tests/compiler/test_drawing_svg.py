import struct
import xml.etree.ElementTree as ET
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.compiler.picture.drawing import Arrow, Box, Picture
from noetl_mcp.compiler.picture.png import png_of
from noetl_mcp.compiler.picture.svg import svg_of
from noetl_mcp.lettering.raster import LONGEST_SIDE, MOST_PIXELS, fitting
from noetl_mcp.lettering.widths import BOLD, REGULAR, advances, can_write, width_of

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
NASTY = "<script>alert(1)</script>\"'&]]>\x00\x08\ud800\u202e\ufffe"


def pair(label: str = "", first: Box | None = None) -> Picture:
    boxes = (first or Box("fetch", "http"), Box("keep", "postgres", writes=True))
    return Picture("Pair", boxes, (Arrow(boxes[0].name, "keep", label),))


def texts(svg: str) -> list[str]:
    return ["".join(one.itertext()) for one in ET.fromstring(svg).iter(f"{SVG}text")]


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=60))
@settings(max_examples=120, deadline=None)
def test_any_text_gives_a_well_formed_svg_of_known_elements(
    name: str, kind: str, label: str
) -> None:
    picture = Picture(
        name,
        (Box(name, kind, note=label), Box(name + "b", kind)),
        (Arrow(name, name + "b", label),),
    )

    root = ET.fromstring(svg_of(picture))

    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= ALLOWED


def test_a_name_cannot_become_markup_script_or_a_link() -> None:
    svg = svg_of(
        Picture(NASTY, (Box(NASTY, NASTY, note=NASTY), Box("b", "")), (Arrow(NASTY, "b", NASTY),))
    )

    root = ET.fromstring(svg)
    assert "<script" not in svg
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= ALLOWED
    assert not any(
        key.startswith("on") or "href" in key for one in root.iter() for key in one.attrib
    )
    assert any("alert(1)" in text for text in texts(svg))


def test_the_svg_asks_for_nothing_from_outside() -> None:
    svg = svg_of(pair()).replace("http://www.w3.org/2000/svg", "")

    assert "url(" not in svg
    assert "@import" not in svg
    assert "//" not in svg


def test_a_screen_reader_hears_title_and_description_first() -> None:
    root = ET.fromstring(svg_of(pair()))

    assert [one.tag for one in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "Pair"
    assert "2 steps" in (root[1].text or "")


def test_a_page_finds_a_step_by_its_name() -> None:
    root = ET.fromstring(svg_of(pair(first=Box('a <b> & "c"', "http"))))

    steps = [one.attrib["data-step"] for one in root.iter(f"{SVG}g") if "data-step" in one.attrib]
    assert steps == ['a <b> & "c"', "keep"]


def test_the_legend_explains_only_what_occurs() -> None:
    plain = svg_of(Picture("", (Box("a", "http"), Box("b", "http")), (Arrow("a", "b"),)))
    marked = svg_of(pair(first=Box("fetch", "http", hidden=True)))

    assert not [text for text in texts(plain) if "outside" in text or "compiler" in text]
    assert "changes something outside" in texts(marked)
    assert "hidden step, made by the compiler" in texts(marked)
    assert "followed on error" not in texts(marked)


def test_a_condition_loses_its_braces_and_is_shortened_but_its_whole_can_be_read() -> None:
    condition = "workload.count > 10 and " * 8 + "done"

    svg = svg_of(pair("{{ " + condition + " }}"))

    assert any(text.endswith("…") for text in texts(svg))
    titles = [one.text for one in ET.fromstring(svg).iter(f"{SVG}title")]
    assert condition in titles


def test_dark_colours_are_for_readers_who_prefer_them() -> None:
    assert "@media (prefers-color-scheme: dark)" in svg_of(pair())


def pixels(png: bytes) -> tuple[int, int, bytes]:
    width, height = struct.unpack(">II", png[16:24])
    at, packed = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            packed += png[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, zlib.decompress(packed)


def test_the_png_shows_the_picture() -> None:
    png = png_of(pair())

    width, height, raw = pixels(png)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert (width, height) > (200, 200)
    assert len(set(raw)) > 30


def test_text_is_drawn_on_a_machine_without_fonts() -> None:
    named = png_of(Picture("", (Box("iiiiiiii", ""),), ()))
    other = png_of(Picture("", (Box("jjjjjjjj", ""),), ()))

    assert named != other


def test_a_huge_picture_is_scaled_down_to_the_limit() -> None:
    zoom = fitting(60_000, 65_000, 2.0)

    assert 60_000 * zoom * 65_000 * zoom <= MOST_PIXELS * 1.001
    assert fitting(100_000, 10, 2.0) * 100_000 <= LONGEST_SIDE
    assert fitting(500, 500, 2.0) == 2.0


def test_widths_are_those_of_the_bundled_font() -> None:
    assert advances(REGULAR)["m"] == 0.935
    assert width_of("mm", 10) == pytest.approx(18.7)
    assert width_of("m", 10, bold=True) > width_of("m", 10)
    assert advances(REGULAR).keys() == advances(BOLD).keys()


def test_the_font_writes_latin_greek_cyrillic_and_arrows_but_no_chinese() -> None:
    assert can_write("größe ελέγχος загрузка → ≥ ≠ …")
    assert not can_write("名前")
    assert width_of("名", 10) == 10
