"""Models as other programs write them: turned, in millimetres, clipped, copied, typed by name."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.revit.headless.server import Headless

ifcopenshell: Any = pytest.importorskip("ifcopenshell", reason="IFC needs the extra 'bim'")

Entity = Any
SCHEMAS = ("IFC2X3", "IFC4", "IFC4X3")


class Foreign:
    """Writes a model entity by entity, in millimetres."""

    def __init__(self, schema: str = "IFC4", unit: str | None = "MILLI") -> None:
        self.file = ifcopenshell.file(schema=schema)
        self.schema = schema
        f = self.file
        self.context = f.create_entity(
            "IfcGeometricRepresentationContext",
            ContextType="Model",
            CoordinateSpaceDimension=3,
            WorldCoordinateSystem=self.axes((0.0, 0.0, 0.0)),
        )
        length = f.create_entity("IfcSIUnit", UnitType="LENGTHUNIT", Prefix=unit, Name="METRE")
        area = f.create_entity("IfcSIUnit", UnitType="AREAUNIT", Name="SQUARE_METRE")
        self.units = f.create_entity("IfcUnitAssignment", Units=[length, area])
        self.project = self.root(
            "IfcProject",
            Name="P-1",
            LongName="Tower",
            RepresentationContexts=[self.context],
            UnitsInContext=self.units,
        )
        self.site = self.root("IfcSite", Name="Plot", CompositionType="ELEMENT")
        self.building = self.root("IfcBuilding", Name="Tower", CompositionType="ELEMENT")
        self.building.ObjectPlacement = self.placement((10_000.0, 0.0, 0.0))
        self.made_of(self.project, self.site)
        self.made_of(self.site, self.building)

    def root(self, kind: str, **more: Any) -> Entity:
        return self.file.create_entity(kind, GlobalId=ifcopenshell.guid.new(), **more)

    def axes(self, at: Sequence[float], turned: float = 0.0) -> Entity:
        angle = math.radians(turned)
        f = self.file
        return f.create_entity(
            "IfcAxis2Placement3D",
            Location=f.create_entity("IfcCartesianPoint", Coordinates=tuple(map(float, at))),
            Axis=f.create_entity("IfcDirection", DirectionRatios=(0.0, 0.0, 5.0)),
            RefDirection=f.create_entity(
                "IfcDirection", DirectionRatios=(3 * math.cos(angle), 3 * math.sin(angle), 0.0)
            ),
        )

    def placement(
        self, at: Sequence[float], turned: float = 0.0, inside: Entity | None = None
    ) -> Entity:
        return self.file.create_entity(
            "IfcLocalPlacement", PlacementRelTo=inside, RelativePlacement=self.axes(at, turned)
        )

    def storey(self, name: str, elevation: float | None) -> Entity:
        made = self.root(
            "IfcBuildingStorey", Name=name, CompositionType="ELEMENT", Elevation=elevation
        )
        made.ObjectPlacement = self.placement(
            (0.0, 0.0, elevation or 0.0), 0.0, self.building.ObjectPlacement
        )
        self.made_of(self.building, made)
        return made

    def made_of(self, whole: Entity, *parts: Entity) -> None:
        self.root("IfcRelAggregates", RelatingObject=whole, RelatedObjects=list(parts))

    def stands(self, storey: Entity, *elements: Entity) -> None:
        self.root(
            "IfcRelContainedInSpatialStructure",
            RelatingStructure=storey,
            RelatedElements=list(elements),
        )

    def curve(self, *points: Sequence[float]) -> Entity:
        f = self.file
        made = [f.create_entity("IfcCartesianPoint", Coordinates=tuple(at)) for at in points]
        return f.create_entity("IfcPolyline", Points=made)

    def prism(self, corners: Sequence[Sequence[float]], height: float) -> Entity:
        f = self.file
        profile = f.create_entity(
            "IfcArbitraryClosedProfileDef",
            ProfileType="AREA",
            OuterCurve=self.curve(*corners, corners[0]),
        )
        return f.create_entity(
            "IfcExtrudedAreaSolid",
            SweptArea=profile,
            Position=self.axes((0.0, 0.0, 0.0)),
            ExtrudedDirection=f.create_entity("IfcDirection", DirectionRatios=(0.0, 0.0, 1.0)),
            Depth=height,
        )

    def shape(self, item: Entity, kind: str = "SweptSolid", line: Entity | None = None) -> Entity:
        f = self.file

        def shown(identifier: str, kind: str, item: Entity) -> Entity:
            return f.create_entity(
                "IfcShapeRepresentation",
                ContextOfItems=self.context,
                RepresentationIdentifier=identifier,
                RepresentationType=kind,
                Items=[item],
            )

        found = [shown("Body", kind, item)]
        if line is not None:
            found.insert(0, shown("Axis", "Curve2D", line))
        return f.create_entity("IfcProductDefinitionShape", Representations=found)

    def layers(self, wall: Entity, offset: float, sense: str, *sizes: float) -> None:
        f = self.file
        material = f.create_entity("IfcMaterial", Name="Brick")
        made = [
            f.create_entity("IfcMaterialLayer", Material=material, LayerThickness=size)
            for size in sizes
        ]
        usage = f.create_entity(
            "IfcMaterialLayerSetUsage",
            ForLayerSet=f.create_entity("IfcMaterialLayerSet", MaterialLayers=made),
            LayerSetDirection="AXIS2",
            DirectionSense=sense,
            OffsetFromReferenceLine=offset,
        )
        self.root("IfcRelAssociatesMaterial", RelatedObjects=[wall], RelatingMaterial=usage)

    def said(self, elements: Sequence[Entity], name: str, **values: tuple[str, Any]) -> Entity:
        f = self.file
        made = [
            f.create_entity(
                "IfcPropertySingleValue", Name=key, NominalValue=f.create_entity(kind, value)
            )
            for key, (kind, value) in values.items()
        ]
        held = self.root("IfcPropertySet", Name=name, HasProperties=made)
        self.root(
            "IfcRelDefinesByProperties",
            RelatedObjects=list(elements),
            RelatingPropertyDefinition=held,
        )
        return held

    def typed(self, kind: Entity, *elements: Entity) -> None:
        self.root("IfcRelDefinesByType", RelatingType=kind, RelatedObjects=list(elements))

    def written(self, folder: Path, name: str = "tower") -> Path:
        path = folder / f"{name}.ifc"
        self.file.write(str(path))
        return path


def wall(made: Foreign, at: tuple[float, float], turned: float, storey: Entity) -> Entity:
    """A wall of 4 m with its line on one face, 300 thick, 2.5 m high, clipped at its top."""
    f = made.file
    body = made.prism([(0.0, 0.0), (4000.0, 0.0), (4000.0, 300.0), (0.0, 300.0)], 2500.0)
    plane = f.create_entity("IfcPlane", Position=made.axes((0.0, 0.0, 2500.0)))
    half = f.create_entity("IfcHalfSpaceSolid", BaseSurface=plane, AgreementFlag=False)
    clipped = f.create_entity(
        "IfcBooleanClippingResult", Operator="DIFFERENCE", FirstOperand=body, SecondOperand=half
    )
    found = made.root(
        "IfcWall",
        Name="W",
        ObjectPlacement=made.placement((*at, 0.0), turned, storey.ObjectPlacement),
        Representation=made.shape(clipped, "Clipping", made.curve((0.0, 0.0), (4000.0, 0.0))),
    )
    made.layers(found, 0.0, "POSITIVE", 100.0, 200.0)
    made.stands(storey, found)
    return found


def asked(made: Foreign, folder: Path) -> Headless:
    return Headless.opened(made.written(folder))
