"""How long a headless Revit takes to open a model and to answer; prints JSON.

    python benchmarks/headless.py [--walls 1000 10000] [--file MODEL.ifc]

Models are made here: walls with a door each, on ten levels. Each call is made twice, for what was
found out once is kept; both are told, in milliseconds of wall and of CPU time. `rss_mb` is what the
process holds afterwards, and `library_mb` what it held with the library alone.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ifcopenshell

from noetl_mcp.bim.ifc.writer import Entity, Writer
from noetl_mcp.bim.revit.headless.server import Headless

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "levels": ("get_levels", {}),
    "50 walls": ("get_walls", {"count": 50}),
    "all walls": ("get_walls", {}),
    "walls of a level": ("get_walls", {"level": "L3"}),
    "ids of all walls": ("get_walls", {"_shape": {"idsOnly": True}}),
    "all doors": ("get_doors", {}),
    "walls by parameter": (
        "query_elements",
        {"filters": {"categories": ["Walls"], "parameters": [{"param": "Mark", "value": "W7"}]}},
    ),
    "in a box": (
        "query_elements",
        {
            "filters": {
                "bbox": {"min": {"x": 0, "y": 0, "z": 0}, "max": {"x": 9e3, "y": 9e3, "z": 9e3}}
            }
        },
    ),
}
_LEVELS = 10


def model(walls: int) -> str:
    """Write a model of so many walls, each with a door, on ten levels."""
    writer = Writer("Benchmark", seed="benchmark")
    site = writer.root("IfcSite", "site", Name="Site", CompositionType="ELEMENT")
    site.ObjectPlacement = writer.placement((0.0, 0.0, 0.0), None)
    writer.part(writer.project, site)
    house = writer.root("IfcBuilding", "house", Name="House", CompositionType="ELEMENT")
    house.ObjectPlacement = writer.placement((0.0, 0.0, 0.0), site.ObjectPlacement)
    writer.part(site, house)
    for level in range(_LEVELS):
        height = level * 3.0
        storey = writer.root(
            "IfcBuildingStorey",
            f"L{level}",
            Name=f"L{level}",
            CompositionType="ELEMENT",
            Elevation=height,
        )
        storey.ObjectPlacement = writer.placement((0.0, 0.0, height), house.ObjectPlacement)
        writer.part(house, storey)
        for number in range(level, walls, _LEVELS):
            _wall(writer, storey, number)
    return writer.text(name="benchmark.ifc", program="benchmark", version="1")


def _wall(writer: Writer, storey: Entity, number: int) -> None:
    row, column = divmod(number // _LEVELS, 30)
    place = writer.placement((column * 5.0, row * 5.0, 0.0), storey.ObjectPlacement)
    outline = [(0.0, -0.1), (4.0, -0.1), (4.0, 0.1), (0.0, 0.1)]
    wall = writer.root(
        "IfcWall",
        f"wall {number}",
        Name=f"Wall {number}",
        ObjectPlacement=place,
        Representation=writer.shape([writer.solid(outline, 2.8)], axis=[(0.0, 0.0), (4.0, 0.0)]),
        PredefinedType="STANDARD",
    )
    writer.type_of(wall, "IfcWallType", f"RC{150 + number % 3 * 50}", PredefinedType="STANDARD")
    writer.made_of(wall, writer.layer("Concrete", 0.2))
    writer.facts(wall, "Identity", {"Mark": f"W{number % 100}", "IsExternal": number % 2 == 0})
    writer.contain(storey, wall)
    hole = writer.root(
        "IfcOpeningElement",
        f"hole {number}",
        ObjectPlacement=writer.placement((1.0, 0.0, 0.0), place),
        PredefinedType="OPENING",
    )
    door = writer.root(
        "IfcDoor",
        f"door {number}",
        Name=f"Door {number}",
        ObjectPlacement=writer.placement((0.0, 0.0, 0.0), hole.ObjectPlacement),
        OverallWidth=0.9,
        OverallHeight=2.1,
        PredefinedType="DOOR",
    )
    writer.hole(f"hole {number}", wall, hole, door)
    writer.contain(storey, door)


def measured(path: Path) -> dict[str, Any]:
    """Open a model, ask it everything twice, and return what that took."""
    library = _rss()
    took: dict[str, Any] = {}
    server = _timed(lambda: Headless.opened(path), took, "open")
    for name, asked in CALLS.items():
        for again in ("", ", again"):
            answer = _timed(partial(server.answer, *asked), took, name + again)
            if not answer["ok"] or answer.get("issues"):
                raise SystemExit(f"{name}: {answer}")
    size = round(path.stat().st_size / 1e6, 2)
    return {"file_mb": size, "library_mb": library, "rss_mb": _rss(), "ms": took}


def _timed(call: Callable[[], Any], took: dict[str, Any], name: str) -> Any:
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    took[name] = {
        "wall": round((time.perf_counter() - wall) * 1000, 2),
        "cpu": round((time.process_time() - cpu) * 1000, 2),
    }
    return found


def _rss() -> float:
    """Return the most memory that this process has held, in megabytes."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def main() -> None:
    """Measure models of the sizes that are asked for, or a file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--walls", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {"ifcopenshell": ifcopenshell.version}
    if given.file is not None:
        found[given.file.name] = measured(given.file)
    with tempfile.TemporaryDirectory() as folder:
        for walls in [] if given.file else given.walls:
            path = Path(folder) / f"{walls}.ifc"
            # Elsewhere, for what writing takes is not what reading holds.
            with ProcessPoolExecutor(1, get_context("spawn")) as elsewhere:
                path.write_text(elsewhere.submit(model, walls).result(), encoding="utf-8")
            found[f"{walls} walls"] = measured(path)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
