"""Which methods of a Revit server read, write or destroy. Calls none; unknown ones write."""

from noetl_mcp.bim.effects import Effect, registry

READS = """
ping_server status get_context agent_bootstrap list_commands search_commands describe_command
get_open_documents smoke_test
get_project_info get_project_units get_levels get_grids get_current_view get_views
get_selected_element_ids get_elements_in_view get_element_info search_elements query_elements
get_walls get_wall_types get_wall_parameters get_wall_baseline get_rooms get_room_params get_doors
get_windows get_floors get_structural_frames get_structural_columns get_structural_column_types
get_family_types get_family_instances get_materials get_types_in_view get_param_meta
get_instance_parameters_bulk get_type_parameters_bulk get_bounding_box get_oriented_bbox
list_rebar_bar_types rebar_layout_inspect rebar_plan_auto preview_rebar_linear
preview_rebar_by_spacing get_instance_geometry get_instances_geometry
"""

# A batch may hold anything, a snapshot and an export leave a file on the server's disk.
WRITES = """
batch save_snapshot export_view_mesh export_view_3dm export_view_3dm_brep
update_wall_parameter update_structural_frame_parameter update_structural_column_parameter
update_parameters_batch change_wall_type set_room_param update_level_parameter update_project_info
rename_types_bulk move_structural_frame move_structural_column rebar_layout_update
rebar_layout_update_by_host move_rebars set_visual_override
create_wall create_level create_grids create_room create_floor create_door_on_wall
create_window_on_wall create_structural_frame create_structural_column duplicate_wall_type
rebar_apply_plan create_rebar_linear create_rebar_by_spacing apply_transform_delta
"""

DESTROYS = """
delete_wall delete_walls delete_structural_frame delete_structural_column delete_room delete_rebars
delete_element delete_elements
"""

METHODS = registry(
    reads=READS,
    writes=WRITES,
    destroys=DESTROYS,
    aliases={"revit_status": "status", "revit_batch": "batch"},
)


def effect(method: str) -> Effect:
    """Return what a method does to the model."""
    return METHODS.effect(method)


def writes(method: str) -> bool:
    """Whether a method changes the model, or may."""
    return METHODS.writes(method)


__all__ = [
    "DESTROYS",
    "METHODS",
    "READS",
    "WRITES",
    "effect",
    "writes",
]
