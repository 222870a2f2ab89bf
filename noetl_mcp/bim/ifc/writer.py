"""Write an IFC4 model in metres: storeys, solids, types, relations. Knows no floor plan.

Ids are derived from names, so the same input gives the same bytes and an element keeps its id from
one export to the next. z is up; the caller turns his coordinates.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Entity = Any
_SPACE = uuid.UUID("6a7f0f5e-4c0f-5b62-9d52-6e6f65746c00")
_TIME = "1970-01-01T00:00:00"
_WIDTH_OF_LINE = 1e-5


class Writer:
    """A model that grows; `text` is the file."""

    def __init__(self, name: str, *, seed: str) -> None:
        import ifcopenshell

        self.file: Any = ifcopenshell.file(schema="IFC4")
        self._seed = seed
        self._contained: dict[Entity, list[Entity]] = defaultdict(list)
        self._parts: dict[Entity, list[Entity]] = defaultdict(list)
        self._typed: dict[Entity, list[Entity]] = defaultdict(list)
        self._made_of: dict[Entity, list[Entity]] = defaultdict(list)
        self._points: dict[tuple[float, ...], Entity] = {}
        self._directions: dict[tuple[float, ...], Entity] = {}
        self._types: dict[str, Entity] = {}
        self._layers: dict[str, Entity] = {}
        self.origin = self._axes((0.0, 0.0, 0.0))
        self.body, self.axis = self._contexts()
        self.project = self._project(name)

    # Roots

    def _project(self, name: str) -> Entity:
        f = self.file
        units = f.create_entity(
            "IfcUnitAssignment",
            Units=[
                f.create_entity("IfcSIUnit", UnitType=kind, Name=unit)
                for kind, unit in (
                    ("LENGTHUNIT", "METRE"),
                    ("AREAUNIT", "SQUARE_METRE"),
                    ("VOLUMEUNIT", "CUBIC_METRE"),
                    ("PLANEANGLEUNIT", "RADIAN"),
                )
            ],
        )
        return self.root(
            "IfcProject",
            "project",
            Name=name,
            RepresentationContexts=[self._model, self._plan],
            UnitsInContext=units,
        )

    def _contexts(self) -> tuple[Entity, Entity]:
        f = self.file
        world = f.create_entity("IfcAxis2Placement2D", Location=self.point((0.0, 0.0)))
        self._model = f.create_entity(
            "IfcGeometricRepresentationContext",
            ContextType="Model",
            CoordinateSpaceDimension=3,
            Precision=_WIDTH_OF_LINE,
            WorldCoordinateSystem=self.origin,
        )
        self._plan = f.create_entity(
            "IfcGeometricRepresentationContext",
            ContextType="Plan",
            CoordinateSpaceDimension=2,
            Precision=_WIDTH_OF_LINE,
            WorldCoordinateSystem=world,
        )
        body = self._inside(self._model, "Body", "MODEL_VIEW")
        return body, self._inside(self._plan, "Axis", "GRAPH_VIEW")

    def _inside(self, context: Entity, name: str, view: str) -> Entity:
        return self.file.create_entity(
            "IfcGeometricRepresentationSubContext",
            ContextIdentifier=name,
            ContextType=context.ContextType,
            ParentContext=context,
            TargetView=view,
        )

    def root(self, kind: str, key: str, **given: Any) -> Entity:
        """Create an entity with an id of its own, made from its key."""
        import ifcopenshell.guid

        found = uuid.uuid5(_SPACE, f"{self._seed}/{key}")
        return self.file.create_entity(kind, ifcopenshell.guid.compress(found.hex), **given)

    # Relations, each written once at the end

    def part(self, whole: Entity, part: Entity) -> None:
        """Say that something is a part of another."""
        self._parts[whole].append(part)

    def contain(self, storey: Entity, element: Entity) -> None:
        """Say that an element stands on a storey."""
        self._contained[storey].append(element)

    def type_of(self, element: Entity, kind: str, name: str, **given: Any) -> Entity:
        """Give an element its type, made when it is first needed."""
        key = f"type/{kind}/{name}"
        if key not in self._types:
            self._types[key] = self.root(kind, key, Name=name, **given)
        self._typed[self._types[key]].append(element)
        return self._types[key]

    def made_of(self, element: Entity, material: Entity) -> None:
        """Say what an element is made of."""
        self._made_of[material].append(element)

    def layer(self, name: str, thickness: float) -> Entity:
        """Return one layer of a material, its middle on a wall's line; equal ones are shared."""
        if name not in self._layers:
            f = self.file
            material = f.create_entity("IfcMaterial", Name=name)
            layer = f.create_entity(
                "IfcMaterialLayer", Material=material, LayerThickness=rounded(thickness)
            )
            layers = f.create_entity(
                "IfcMaterialLayerSet", MaterialLayers=[layer], LayerSetName=name
            )
            self._layers[name] = f.create_entity(
                "IfcMaterialLayerSetUsage",
                ForLayerSet=layers,
                LayerSetDirection="AXIS2",
                DirectionSense="POSITIVE",
                OffsetFromReferenceLine=rounded(-thickness / 2),
            )
        return self._layers[name]

    def hole(self, key: str, wall: Entity, opening: Entity, filling: Entity | None) -> None:
        """Cut an opening out of a wall, and put a door or window into it."""
        self.root(
            "IfcRelVoidsElement",
            f"voids/{key}",
            RelatingBuildingElement=wall,
            RelatedOpeningElement=opening,
        )
        if filling is not None:
            self.root(
                "IfcRelFillsElement",
                f"fills/{key}",
                RelatingOpeningElement=opening,
                RelatedBuildingElement=filling,
            )

    def facts(self, element: Entity, name: str, facts: Mapping[str, Any]) -> None:
        """Attach a set of properties: texts, numbers, flags."""
        f = self.file
        kinds = {bool: "IfcBoolean", str: "IfcLabel", float: "IfcReal", int: "IfcInteger"}
        properties = [
            f.create_entity(
                "IfcPropertySingleValue",
                Name=key,
                NominalValue=f.create_entity(kinds[type(value)], value),
            )
            for key, value in facts.items()
        ]
        made = self.root(
            "IfcPropertySet",
            f"facts/{element.GlobalId}/{name}",
            Name=name,
            HasProperties=properties,
        )
        self._define(element, made)

    def quantities(
        self, element: Entity, name: str, lengths: Mapping[str, float], areas: Mapping[str, float]
    ) -> None:
        """Attach a set of measured quantities."""
        f = self.file
        found = [
            f.create_entity("IfcQuantityLength", Name=key, LengthValue=value)
            for key, value in lengths.items()
        ]
        found += [
            f.create_entity("IfcQuantityArea", Name=key, AreaValue=value)
            for key, value in areas.items()
        ]
        made = self.root(
            "IfcElementQuantity",
            f"quantities/{element.GlobalId}/{name}",
            Name=name,
            Quantities=found,
        )
        self._define(element, made)

    def _define(self, element: Entity, facts: Entity) -> None:
        self.root(
            "IfcRelDefinesByProperties",
            f"defines/{facts.GlobalId}",
            RelatedObjects=[element],
            RelatingPropertyDefinition=facts,
        )

    # Geometry

    def point(self, at: Sequence[float]) -> Entity:
        """Return a point; equal ones are shared."""
        key = tuple(rounded(part) for part in at)
        if key not in self._points:
            self._points[key] = self.file.create_entity("IfcCartesianPoint", Coordinates=key)
        return self._points[key]

    def direction(self, along: Sequence[float]) -> Entity:
        """Return a direction; equal ones are shared."""
        key = tuple(rounded(part) for part in along)
        if key not in self._directions:
            made = self.file.create_entity("IfcDirection", DirectionRatios=key)
            self._directions[key] = made
        return self._directions[key]

    def _axes(self, at: Sequence[float], x: Sequence[float] | None = None) -> Entity:
        turned: dict[str, Entity] = {}
        if x is not None:
            turned["Axis"] = self.direction((0.0, 0.0, 1.0))
            turned["RefDirection"] = self.direction(x)
        return self.file.create_entity("IfcAxis2Placement3D", Location=self.point(at), **turned)

    def placement(
        self, at: Sequence[float], inside: Entity | None, x: Sequence[float] | None = None
    ) -> Entity:
        """Return where something stands, relative to another placement; `x` is its own x axis."""
        return self.file.create_entity(
            "IfcLocalPlacement", PlacementRelTo=inside, RelativePlacement=self._axes(at, x)
        )

    def solid(
        self, outline: Sequence[tuple[float, float]], height: float, foot: float = 0.0
    ) -> Entity:
        """Return a solid: an outline on the ground, pulled up."""
        f = self.file
        closed = [*outline, outline[0]]
        line = f.create_entity("IfcPolyline", Points=[self.point(at) for at in closed])
        profile = f.create_entity(
            "IfcArbitraryClosedProfileDef", ProfileType="AREA", OuterCurve=line
        )
        return f.create_entity(
            "IfcExtrudedAreaSolid",
            SweptArea=profile,
            Position=self._axes((0.0, 0.0, foot)),
            ExtrudedDirection=self.direction((0.0, 0.0, 1.0)),
            Depth=rounded(height),
        )

    def shape(
        self, solids: Iterable[Entity], axis: Sequence[tuple[float, float]] | None = None
    ) -> Entity:
        """Return how something looks: its solids, and for a wall its line on the plan."""
        f = self.file
        body = f.create_entity(
            "IfcShapeRepresentation",
            ContextOfItems=self.body,
            RepresentationIdentifier="Body",
            RepresentationType="SweptSolid",
            Items=list(solids),
        )
        found = [body]
        if axis is not None:
            line = f.create_entity("IfcPolyline", Points=[self.point(at) for at in axis])
            found.insert(
                0,
                f.create_entity(
                    "IfcShapeRepresentation",
                    ContextOfItems=self.axis,
                    RepresentationIdentifier="Axis",
                    RepresentationType="Curve2D",
                    Items=[line],
                ),
            )
        return f.create_entity("IfcProductDefinitionShape", Representations=found)

    def text(self, *, name: str, program: str, version: str) -> str:
        """Return the file; nothing may be added afterwards."""
        for index, (whole, parts) in enumerate(self._parts.items()):
            self.root(
                "IfcRelAggregates", f"parts/{index}", RelatingObject=whole, RelatedObjects=parts
            )
        for index, (storey, found) in enumerate(self._contained.items()):
            self.root(
                "IfcRelContainedInSpatialStructure",
                f"contained/{index}",
                RelatingStructure=storey,
                RelatedElements=found,
            )
        for kind, found in self._typed.items():
            self.root(
                "IfcRelDefinesByType",
                f"typed/{kind.GlobalId}",
                RelatingType=kind,
                RelatedObjects=found,
            )
        for index, (material, found) in enumerate(self._made_of.items()):
            self.root(
                "IfcRelAssociatesMaterial",
                f"made of/{index}",
                RelatingMaterial=material,
                RelatedObjects=found,
            )
        header = self.file.header
        header.file_name.name = name
        header.file_name.time_stamp = _TIME
        header.file_name.preprocessor_version = f"{program} {version}"
        header.file_name.originating_system = f"{program} {version}"
        written: str = self.file.to_string()
        return written


def rounded(value: float) -> float:
    """Return a length as it is written: to a hundredth of a millimetre, and without -0."""
    return round(value, 5) + 0.0
