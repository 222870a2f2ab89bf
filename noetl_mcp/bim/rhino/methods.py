"""Which methods of a Rhino server read, write or destroy. Calls none; unknown ones write."""

from noetl_mcp.bim.effects import Effect, registry

READS = """
rhino_get_selection rhino_list_revit_objects rhino_find_by_element rhino_collect_boxes inspect_3dm
healthz
"""

# The selection decides what a commit sends, so setting it is no mere look.
WRITES = """
rhino_import_snapshot rhino_commit_transform rhino_lock_objects rhino_unlock_objects
rhino_refresh_from_revit rhino_import_by_ids rhino_import_3dm rhino_set_selection rhino_move
rhino_set_transform convert_3dm_version merge_3dm_files
"""

METHODS = registry(
    reads=READS,
    writes=WRITES,
    destroys="",
    aliases={
        "import_3dm": "rhino_import_3dm",
        "list_revit_objects": "rhino_list_revit_objects",
        "find_by_element": "rhino_find_by_element",
        "collect_boxes": "rhino_collect_boxes",
        "rhino_inspect_3dm": "inspect_3dm",
        "rhino_convert_3dm_version": "convert_3dm_version",
        "rhino_merge_3dm_files": "merge_3dm_files",
    },
)


def effect(method: str) -> Effect:
    """Return what a method does to the model."""
    return METHODS.effect(method)


def writes(method: str) -> bool:
    """Whether a method changes the model, or may."""
    return METHODS.writes(method)


__all__ = [
    "METHODS",
    "READS",
    "WRITES",
    "effect",
    "writes",
]
