import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from noetl_mcp.web.app import DOORS
from noetl_mcp.web.headless.app import Wire
from noetl_mcp.web.headless.jobs import Jobs
from noetl_mcp.web.headless.model_thread import ModelThread, now
from noetl_mcp.web.headless.shown import Server
from tests.web.headless import Model

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "api.md"


def test_every_route_has_a_heading_and_every_heading_a_route() -> None:
    told = set(re.findall(r"(?m)^### ([A-Z]+ \S+)$", PAGE.read_text()))

    assert told == {f"{door.method} {door.path.replace(':path', '')}" for door in DOORS}


def test_every_route_of_the_headless_server_is_on_its_page_and_no_other() -> None:
    page = PAGE.parent.parent / "how-to" / "headless-revit.md"
    rows = re.findall(r"(?m)^\| (`(?:GET|POST) .*?) \|", page.read_text())
    told = {name for row in rows for name in re.findall(r"`([A-Z]+ \S+)`", row)}

    model = ModelThread(Model(), ThreadPoolExecutor(1), Jobs())
    routes = Wire(model, Server("", 0, now())).routes()

    found = {f"{name} {one.path}" for one in routes for name in (one.methods or ())}
    assert told == {one for one in found if not one.startswith("HEAD ")}
