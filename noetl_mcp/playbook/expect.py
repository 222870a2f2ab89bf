"""What a write may change: bounds on its counters, read from `expect`. Counts nothing itself."""

from typing import Annotated

from pydantic import Field

from noetl_mcp.playbook.values import Model, OrTemplate, Value

Bound = Annotated[Annotated[int, Field(ge=0)], OrTemplate()]


class Expect(Model):
    """Bounds a result must keep; a bounded counter that is absent fails the step."""

    minUpdated: Bound | None = Field(None, description="At least this many elements updated.")
    maxUpdated: Bound | None = Field(None, description="At most this many elements updated.")
    minCreated: Bound | None = Field(None, description="At least this many elements created.")
    maxCreated: Bound | None = Field(None, description="At most this many elements created.")
    minDeleted: Bound | None = Field(None, description="At least this many elements deleted.")
    maxDeleted: Bound | None = Field(None, description="At most this many elements deleted.")
    minCandidates: Bound | None = Field(None, description="At least this many targets found.")
    maxCandidates: Bound | None = Field(None, description="At most this many targets found.")
    exactTargets: Bound | None = Field(None, description="Exactly this many targets found.")
    equals: dict[str, Value] | None = Field(
        None, description="Values that the result must hold, by JSON pointer."
    )
    requireConfirm: bool | None = Field(None, description="Refuse the write without `confirm`.")

    def bounds(self) -> dict[str, tuple[Bound | None, Bound | None]]:
        """Return (least, most) by counter, for those that are bounded."""
        pairs = {
            "updated": (self.minUpdated, self.maxUpdated),
            "created": (self.minCreated, self.maxCreated),
            "deleted": (self.minDeleted, self.maxDeleted),
            "candidates": (self.minCandidates, self.maxCandidates),
            "targets": (self.exactTargets, self.exactTargets),
        }
        return {name: pair for name, pair in pairs.items() if pair != (None, None)}
