import re
from pathlib import Path

from noetl_mcp.web.app import DOORS

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "api.md"


def test_every_route_has_a_heading_and_every_heading_a_route() -> None:
    told = set(re.findall(r"(?m)^### ([A-Z]+ \S+)$", PAGE.read_text()))

    assert told == {f"{door.method} {door.path.replace(':path', '')}" for door in DOORS}
