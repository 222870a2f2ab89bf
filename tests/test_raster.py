"""Pictures of pixels: however large a drawing says it is, its picture keeps the limits."""

import pytest

from noetl_mcp.lettering.apart import NotPainted, rendered_apart
from noetl_mcp.lettering.raster import LONGEST_SIDE, MOST_PIXELS, rendered


@pytest.mark.parametrize(
    ("width", "height"),
    [("800", "600"), ("800", "400000"), ("800", "4.38348e+06"), ("1.5e+06", "600")],
)
def test_a_picture_keeps_its_limits(width: str, height: str) -> None:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><rect width="100%" height="100%" fill="#fff"/></svg>'
    )

    picture = rendered(svg, 2.0)

    wide, high = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    assert wide * high <= MOST_PIXELS
    assert max(wide, high) <= LONGEST_SIDE


def test_a_picture_that_is_painted_apart_is_the_same() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60" viewBox="0 0 80 60">'
        '<text x="5" y="30" font-size="12">Küche 家</text></svg>'
    )

    assert rendered_apart(svg, 1.5) == rendered(svg, 1.5)


def test_a_process_that_ends_without_a_picture_is_told() -> None:
    with pytest.raises(NotPainted, match="ended without a picture"):
        rendered_apart("<svg", 1.0)
