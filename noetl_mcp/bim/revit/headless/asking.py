"""What methods may be asked: their parameters as models, and what all of them share.

A parameter that is not known is refused: a misspelt filter would answer with everything.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MOST_ROWS = 100_000
Id = Annotated[int, Field(ge=1, lt=2**63)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Ids = Annotated[list[Id], Field(max_length=MOST_ROWS)]
Names = Annotated[list[Name], Field(max_length=10_000)]
UniqueIds = Annotated[list[Name], Field(max_length=MOST_ROWS)]


class Asked(BaseModel):
    """The parameters of a method."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=to_camel, serialize_by_alias=True
    )


class Nothing(Asked):
    """A method that takes no parameters."""


class Page(Asked):
    """Which rows of the answer are wanted."""

    skip: int = Field(0, ge=0, description="So many rows are left out first.")
    limit: int | None = Field(None, ge=0, description="At most so many rows.")


class Shape(Asked):
    """How an answer is cut; a page here wins over `skip` and `count`."""

    ids_only: bool = Field(False, description="Answer with `elementIds` alone.")
    page: Page | None = Field(None, description="Which rows are wanted.")


class Listing(Asked):
    """A list that can be cut into pages."""

    skip: int = Field(0, ge=0, description="So many rows are left out first.")
    count: int | None = Field(None, ge=0, description="At most so many rows; 0 asks for the total.")
    names_only: bool = Field(False, description="Answer with `names` alone.")
    summary_only: bool = Field(False, description="Answer with the total alone.")
    shape: Shape | None = Field(None, alias="_shape", description="How the answer is cut.")

    @property
    def window(self) -> Page:
        """Which rows are wanted."""
        if self.shape is not None and self.shape.page is not None:
            return self.shape.page
        return Page(skip=self.skip, limit=0 if self.summary_only else self.count)

    @property
    def ids_only(self) -> bool:
        """Whether only ids are wanted."""
        return self.shape is not None and self.shape.ids_only


class Choosing(Listing):
    """A list of elements, chosen by what they are and where they stand."""

    element_id: Id | None = Field(None, description="The element of this id.")
    element_ids: Ids | None = Field(None, description="The elements of these ids.")
    unique_id: Name | None = Field(None, description="The element of this GlobalId.")
    unique_ids: UniqueIds | None = Field(None, description="The elements of these GlobalIds.")
    level: Name | None = Field(None, description="On the level of this name.")
    level_name: Name | None = Field(None, description="On the level of this name.")
    level_id: Id | None = Field(None, description="On the level of this id.")
    view_id: Id | None = Field(None, description="In the view of this id; a plan shows a level.")
    type_id: Id | None = Field(None, description="Of the type of this id.")
    type_name: Name | None = Field(None, description="Of types of this name.")
    family_name: Name | None = Field(None, description="Of types of this family.")
    name_contains: Name | None = Field(None, description="With this in the name, in any case.")
    mark: Name | None = Field(None, description="With this value of the parameter 'Mark'.")


class Openings(Choosing):
    """Doors or windows."""

    host_wall_id: Id | None = Field(None, description="In the wall of this id.")
    wall_id: Id | None = Field(None, description="In the wall of this id.")
    host_unique_id: Name | None = Field(None, description="In the wall of this GlobalId.")
    include_location: bool = Field(True, description="Tell where they stand.")


class Columns(Choosing):
    """Structural columns."""

    column_id: Id | None = Field(None, description="The column of this id.")
    include_location: bool = Field(True, description="Tell where they stand.")


class Floors(Choosing):
    """Floors."""

    include_location: bool = Field(True, description="Tell where they stand.")


class Types(Listing):
    """A list of types."""

    name_contains: Name | None = Field(None, description="With this in the name, in any case.")
    categories: Names | None = Field(None, description="Of these categories.")
    category_names: Names | None = Field(None, description="Of these categories.")
    family_name: Name | None = Field(None, description="Of this family.")


class One(Asked):
    """One element."""

    element_id: Id | None = Field(None, description="Its id.")
    unique_id: Name | None = Field(None, description="Its GlobalId.")


class OneWall(One):
    """One wall."""

    wall_id: Id | None = Field(None, description="Its id.")


class OneRoom(One):
    """One room."""

    room_id: Id | None = Field(None, description="Its id.")


class OneWallPaged(OneWall):
    """The parameters of a wall, in pages."""

    skip: int = Field(0, ge=0, description="So many are left out first.")
    count: int | None = Field(None, ge=0, description="At most so many; 0 asks for the total.")


class OneRoomPaged(OneRoom):
    """The parameters of a room, in pages."""

    skip: int = Field(0, ge=0, description="So many are left out first.")
    count: int | None = Field(None, ge=0, description="At most so many; 0 asks for the total.")


class Some(Asked):
    """Some elements."""

    element_id: Id | None = Field(None, description="The element of this id.")
    element_ids: Ids | None = Field(None, description="The elements of these ids.")
    unique_id: Name | None = Field(None, description="The element of this GlobalId.")
    unique_ids: UniqueIds | None = Field(None, description="The elements of these GlobalIds.")


class Described(Some):
    """Some elements, told at length or in short."""

    rich: bool = Field(False, description="Tell boxes, hosts and levels, too.")
    view_id: Id | None = Field(None, description="Only when they show in this view.")


class InView(Choosing):
    """What a view shows."""

    category_names: Names | None = Field(None, description="Of these categories.")
    category_name_contains: Name | None = Field(None, description="With this in the category.")
    family_name_contains: Name | None = Field(None, description="With this in the family's name.")
    type_name_contains: Name | None = Field(None, description="With this in the type's name.")
    model_only: bool = Field(True, description="No annotations; a model has none.")
    exclude_imports: bool = Field(True, description="No imported files; a model has none.")


class Searching(Asked):
    """A word to look for."""

    keyword: Name = Field(description="What stands in the name, the type, the mark or the number.")
    categories: Names | None = Field(None, description="Of these categories.")
    view_id: Id | None = Field(None, description="In the view of this id.")
    level_id: Id | None = Field(None, description="On the level of this id.")
    case_sensitive: bool = Field(False, description="Whether capitals count.")
    max_results: int = Field(50, ge=1, le=MOST_ROWS, description="At most so many.")


class NameRule(Asked):
    """What a name must be."""

    mode: Literal["equals", "contains", "startsWith", "endsWith"] = Field(
        "contains", description="How it is compared."
    )
    value: Name = Field(description="What it is compared with.")


class ParameterRule(Asked):
    """What a parameter must be."""

    param: Name = Field(description="The parameter's name, or `Set.Name`.")
    op: Literal["eq", "ne", "gt", "ge", "lt", "le", "contains", "exists"] = Field(
        "eq", description="How it is compared; lengths in mm."
    )
    value: Any = Field(None, description="What it is compared with.")


class Corner(Asked):
    """A point in mm."""

    x: float = Field(description="East.")
    y: float = Field(description="North.")
    z: float = Field(description="Up.")


class BoxRule(Asked):
    """A box in mm that elements must stand in, or reach into."""

    min: Corner = Field(description="The least corner.")
    max: Corner = Field(description="The greatest corner.")
    mode: Literal["intersects", "inside"] = Field("intersects", description="Which of the two.")


class Filters(Asked):
    """What elements must be; all of it."""

    categories: Names | None = Field(None, description="Of these categories.")
    class_names: Names | None = Field(None, description="Of these IFC classes.")
    level_id: Id | None = Field(None, description="On the level of this id.")
    level_name: Name | None = Field(None, description="On the level of this name.")
    type_name: Name | None = Field(None, description="Of types of this name.")
    family_name: Name | None = Field(None, description="Of types of this family.")
    name: NameRule | None = Field(None, description="Of such a name.")
    bbox: BoxRule | None = Field(None, description="Where they are.")
    parameters: Annotated[list[ParameterRule], Field(max_length=50)] = Field(
        default_factory=list, description="With such parameters."
    )


class Scope(Asked):
    """Where to look."""

    view_id: Id | None = Field(None, description="In the view of this id.")


class Options(Asked):
    """What to tell of what is found."""

    include_element_type: bool = Field(True, description="Tell the type.")
    include_bounding_box: bool = Field(False, description="Tell the box around it.")
    include_parameters: Names | None = Field(None, description="Tell these parameters.")
    max_results: int = Field(1_000, ge=1, le=MOST_ROWS, description="At most so many.")
    order_by: Literal["id", "name", "level"] = Field("id", description="In which order.")


class Querying(Asked):
    """Elements by what they are."""

    scope: Scope = Field(default_factory=Scope, description="Where to look.")
    filters: Filters = Field(default_factory=Filters, description="What they must be.")
    options: Options = Field(default_factory=Options, description="What to tell.")


class ParameterKey(Asked):
    """Which parameter is meant; only names are known in IFC."""

    name: Name = Field(description="The parameter's name, or `Set.Name`.")


class Bulk(Asked):
    """A page of elements of which to tell parameters."""

    start_index: int = Field(0, ge=0, description="The first.")
    batch_size: int = Field(200, ge=1, le=MOST_ROWS, description="How many.")


class ManyParameters(Asked):
    """Some parameters of many elements."""

    element_ids: Ids | None = Field(None, description="Of these elements.")
    categories: Names | None = Field(None, description="Of all elements of these categories.")
    param_keys: Annotated[list[ParameterKey], Field(min_length=1, max_length=200)] = Field(
        description="Which parameters."
    )
    page: Bulk = Field(default_factory=Bulk, description="Which of the elements.")


class ManyTypeParameters(Asked):
    """Some parameters of many types."""

    type_ids: Ids | None = Field(None, description="Of these types.")
    categories: Names | None = Field(None, description="Of the types of these categories.")
    param_keys: Annotated[list[ParameterKey], Field(min_length=1, max_length=200)] = Field(
        description="Which parameters."
    )
    page: Bulk = Field(default_factory=Bulk, description="Which of the types.")


class Target(Asked):
    """An element or a type."""

    by: Literal["elementId", "typeId"] = Field("elementId", description="Which of the two.")
    value: Id = Field(description="Its id.")


class Meta(Asked):
    """The parameters that something has."""

    target: Target = Field(description="What has them.")
    filter_names: Names | None = Field(None, description="Those of these names.")
    max_count: int = Field(1_000, ge=1, le=MOST_ROWS, description="At most so many.")


class OneMethod(Asked):
    """A method by its name."""

    method: Name = Field(description="Its name; a dotted one goes by its last part.")


class Trial(Asked):
    """A call that is to be looked at and not done."""

    method: Name = Field(description="The method.")
    params: dict[str, Any] = Field(default_factory=dict, description="Its parameters.")


class Words(Asked):
    """Words to look for among the methods."""

    query: str = Field("", max_length=1_000, description="Words of a name or a description.")


__all__ = [
    "MOST_ROWS",
    "Asked",
    "BoxRule",
    "Bulk",
    "Choosing",
    "Columns",
    "Corner",
    "Described",
    "Filters",
    "Floors",
    "InView",
    "Listing",
    "ManyParameters",
    "ManyTypeParameters",
    "Meta",
    "Name",
    "NameRule",
    "Nothing",
    "One",
    "OneMethod",
    "OneRoom",
    "OneRoomPaged",
    "OneWall",
    "OneWallPaged",
    "Openings",
    "Options",
    "Page",
    "ParameterKey",
    "ParameterRule",
    "Querying",
    "Scope",
    "Searching",
    "Shape",
    "Some",
    "Target",
    "Trial",
    "Types",
    "Words",
]
