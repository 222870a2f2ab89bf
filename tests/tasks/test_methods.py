import re

import pytest

from noetl_mcp.bim.effects import leaf
from noetl_mcp.bim.revit import methods as revit
from noetl_mcp.bim.rhino import methods as rhino


@pytest.mark.parametrize(
    "method",
    ["get_walls", "element.get_walls", "revit.status", "revit_status", "help.get_context"],
)
def test_looking_at_a_revit_model_does_not_write(method: str) -> None:
    assert not revit.writes(method)


@pytest.mark.parametrize(
    "method",
    ["create_wall", "element.create_wall", "update_wall_parameter", "revit.batch", "revit_batch"],
)
def test_changing_a_revit_model_writes(method: str) -> None:
    assert revit.effect(method) == "writes"


@pytest.mark.parametrize("method", ["delete_wall", "element.delete_walls", "delete_rebars"])
def test_deleting_destroys_and_so_writes(method: str) -> None:
    assert revit.effect(method) == "destroys"
    assert revit.writes(method)


@pytest.mark.parametrize("method", ["", ".", "get_everything", "GET_WALLS", "get_walls.now"])
def test_a_method_that_nobody_knows_writes(method: str) -> None:
    assert revit.writes(method)
    assert rhino.writes(method)


@pytest.mark.parametrize("method", ["preview_rebar_linear", "preview_rebar_by_spacing"])
def test_a_preview_reads_and_what_it_previews_writes(method: str) -> None:
    assert not revit.writes(method)
    assert revit.writes(method.replace("preview", "create"))


def test_rhino_is_asked_for_its_selection_and_told_to_commit() -> None:
    assert not rhino.writes("rhino_get_selection")
    assert rhino.writes("rhino_commit_transform")


@pytest.mark.parametrize("name", ["list_revit_objects", "find_by_element", "collect_boxes"])
def test_both_spellings_of_a_rhino_method_are_one_method(name: str) -> None:
    assert not rhino.writes(name)
    assert rhino.METHODS.name(name) == rhino.METHODS.name(f"rhino_{name}")


def test_the_seven_methods_of_the_rhino_reference_are_known() -> None:
    seven = (
        "import_snapshot get_selection commit_transform lock_objects unlock_objects "
        "refresh_from_revit import_by_ids"
    )

    assert all(rhino.METHODS.knows(f"rhino_{name}") for name in re.split(r"\s+", seven))


def test_no_method_reads_in_one_world_and_writes_in_the_other() -> None:
    shared = set(revit.METHODS.effects) & set(rhino.METHODS.effects)

    assert not [name for name in shared if revit.effect(name) != rhino.effect(name)]


def test_no_name_of_a_reading_method_sounds_like_a_change() -> None:
    loud = re.compile(r"(create|update|delete|set|move|change|rename|duplicate|apply|commit)_")

    for methods in (revit.METHODS, rhino.METHODS):
        names = [name for name, effect in methods.effects.items() if effect == "reads"]
        assert not [name for name in names if loud.match(name.removeprefix("rhino_"))]


def test_a_dotted_name_goes_by_its_last_part() -> None:
    assert leaf(" element.create_wall ") == "create_wall"
    assert leaf("create_wall") == "create_wall"
