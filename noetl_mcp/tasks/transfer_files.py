"""A data file that takes the rows of a transfer: written beside its place, then put there.

Rows are added to a file by writing it anew, so that whoever reads it sees all of them or none.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from noetl_mcp.tasks.folders import Folders, ending
from noetl_mcp.tasks.save_rows import refusal
from noetl_mcp.tasks.transfer_duckdb import WRITTEN, Hub


@dataclass(frozen=True, slots=True)
class Part:
    """A file while it is written: its place, and where it is until then."""

    path: Path
    unfinished: Path
    adds: bool

    @classmethod
    def of(cls, folders: Folders, path: str, mode: str) -> "Part":
        """Return what takes the rows for a file below the allowed folders."""
        if mode == "upsert":
            raise refusal("no-key", "a file has no key: use 'append' or 'overwrite'")
        if ending(path) not in WRITTEN:
            known = ", ".join(sorted(WRITTEN))
            raise refusal("wrong-format", f"'{path}' does not end with one of {known}")
        place = folders.checked(path, make=True)
        unfinished = place.with_name(f".{place.name}.{os.urandom(6).hex()}")
        return cls(place, unfinished, mode == "append" and place.exists())

    @property
    def paths(self) -> list[str]:
        """What must be opened."""
        return [str(self.path), str(self.unfinished)]

    def filled(self, hub: Hub, select: str, values: Sequence[object]) -> int:
        """Write the rows, behind those that the file has if they are added."""
        kind, before = ending(self.path.name), 0
        try:
            if self.adds:
                there = hub.reading(self.path)
                before = hub.count(f"SELECT count(*) FROM {there}")
                select = f"(SELECT * FROM {there}) UNION ALL BY NAME ({select})"
            return hub.into_file(select, values, self.unfinished, kind) - before
        except BaseException:
            self.unfinished.unlink(missing_ok=True)
            raise

    def keep(self) -> None:
        """Put the file into its place."""
        os.replace(self.unfinished, self.path)


__all__ = ["Part"]
