"""Which category of Revit an IFC class is. Reads no file."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Category(NamedTuple):
    """A category: the name that programs use, and the one that people read."""

    key: str
    name: str


_TABLE = """
IfcWall                     OST_Walls                 Walls
IfcWallStandardCase         OST_Walls                 Walls
IfcWallElementedCase        OST_Walls                 Walls
IfcCurtainWall              OST_Walls                 Walls
IfcDoor                     OST_Doors                 Doors
IfcDoorStandardCase         OST_Doors                 Doors
IfcWindow                   OST_Windows               Windows
IfcWindowStandardCase       OST_Windows               Windows
IfcSpace                    OST_Rooms                 Rooms
IfcSlab                     OST_Floors                Floors
IfcSlabStandardCase         OST_Floors                Floors
IfcSlabElementedCase        OST_Floors                Floors
IfcSlab.ROOF                OST_Roofs                 Roofs
IfcSlab.LANDING             OST_StairsLandings        Landings
IfcRoof                     OST_Roofs                 Roofs
IfcBeam                     OST_StructuralFraming     Structural Framing
IfcBeamStandardCase         OST_StructuralFraming     Structural Framing
IfcMember                   OST_StructuralFraming     Structural Framing
IfcMemberStandardCase       OST_StructuralFraming     Structural Framing
IfcColumn                   OST_StructuralColumns     Structural Columns
IfcColumnStandardCase       OST_StructuralColumns     Structural Columns
IfcFooting                  OST_StructuralFoundation  Structural Foundations
IfcPile                     OST_StructuralFoundation  Structural Foundations
IfcReinforcingBar           OST_Rebar                 Structural Rebar
IfcReinforcingMesh          OST_FabricReinforcement   Structural Fabric Reinforcement
IfcStair                    OST_Stairs                Stairs
IfcStairFlight              OST_StairsRuns            Runs
IfcRamp                     OST_Ramps                 Ramps
IfcRampFlight               OST_Ramps                 Ramps
IfcRailing                  OST_StairsRailing         Railings
IfcPlate                    OST_CurtainWallPanels     Curtain Panels
IfcCovering.FLOORING        OST_Floors                Floors
IfcCovering.CEILING         OST_Ceilings              Ceilings
IfcCovering.ROOFING         OST_Roofs                 Roofs
IfcFurniture                OST_Furniture             Furniture
IfcFurnishingElement        OST_Furniture             Furniture
IfcSystemFurnitureElement   OST_FurnitureSystems      Furniture Systems
IfcTransportElement         OST_VerticalCirculation   Vertical Circulation
IfcPipeSegment              OST_PipeCurves            Pipes
IfcPipeFitting              OST_PipeFitting           Pipe Fittings
IfcDuctSegment              OST_DuctCurves            Ducts
IfcDuctFitting              OST_DuctFitting           Duct Fittings
IfcSanitaryTerminal         OST_PlumbingFixtures      Plumbing Fixtures
IfcLightFixture             OST_LightingFixtures      Lighting Fixtures
"""
OTHERS = Category("OST_GenericModel", "Generic Models")
"""What has no category of its own."""


def _table() -> Mapping[str, Category]:
    rows = (line.split(maxsplit=2) for line in _TABLE.strip().splitlines())
    return MappingProxyType({kind: Category(key, name) for kind, key, name in rows})


CATEGORIES = _table()
_BY_WORD = MappingProxyType(
    {
        word.casefold(): one
        for one in (*CATEGORIES.values(), OTHERS)
        for word in (one.key, one.key.removeprefix("OST_"), one.name)
    }
)
NAMES = tuple(sorted({one.key for one in (*CATEGORIES.values(), OTHERS)}))


def category(kind: str, predefined: str | None = None) -> Category:
    """Return the category of an IFC class; its predefined type may lead to another."""
    found = CATEGORIES.get(f"{kind}.{predefined}") if predefined else None
    return found or CATEGORIES.get(kind) or OTHERS


def named(word: str) -> Category | None:
    """Return the category that a word names: `OST_Walls`, `Walls` or an IFC class."""
    return _BY_WORD.get(word.casefold()) or CATEGORIES.get(word)


__all__ = ["CATEGORIES", "NAMES", "OTHERS", "Category", "category", "named"]
