"""Steps that draw, check and change floor plans, carried out by a real worker."""

import asyncio
import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from noetl_mcp.worker.bench import Bench
from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.tasks.floorplan_candidates import BROKEN, PLAN, floorplan_server
from tests.worker.shop import Done, Shop


class Housed(Shop):
    """A shop whose workers may read plans in a folder."""

    def bench(self) -> Bench:
        return replace(super().bench(), folders=(self.lives,))


@pytest.fixture
def shop(database: str, tmp_path: Path) -> Iterator[Housed]:  # noqa: F811  # asked for
    made = Housed(database, tmp_path)
    (tmp_path / "plan.floorplan").write_text(PLAN)
    yield made
    made.close()


def step(shop: Shop, *settings: str, result: str = "{{ draw }}") -> Done:
    """Run one step with settings, a line each."""
    lines = "".join(f"    {line}\n" for line in settings)
    return shop.run(
        "workflow:\n  - step: start\n    next: [draw]\n"
        f"  - step: draw\n    type: floorplan\n{lines}    next: [end]\n"
        f"  - step: end\n    result: '{result}'\n"
    )


def test_a_plan_in_a_file_is_drawn_and_its_facts_are_read_by_the_next_step(shop: Housed) -> None:
    done = step(
        shop,
        "action: render",
        "path: plan.floorplan",
        "width: 120",
        result="{{ [draw.rooms[0].name, draw.image] }}",
    )

    assert done.status == "completed"
    assert isinstance(done.result, list)
    name, image = done.result
    assert name == "Office"
    assert base64.b64decode(str(image)).startswith(b"\x89PNG")


def test_a_changed_plan_goes_from_step_to_step(shop: Housed) -> None:
    done = shop.run(
        "workflow:\n"
        "  - step: start\n    next: [grow]\n"
        "  - step: grow\n    type: floorplan\n    action: modify\n    path: plan.floorplan\n"
        "    operations:\n"
        "      - {action: resize_room, target: Office, params: {width: 15, height: 15}}\n"
        "    next: [area]\n"
        "  - step: area\n    type: floorplan\n    action: analyze\n"
        "    data: {dsl: '{{ grow.dsl }}'}\n    next: [end]\n"
        "  - step: end\n    result: '{{ area.summary.grossFloorArea }}'\n"
    )

    assert (done.status, done.result) == ("completed", 225)


def test_a_wrong_plan_fails_its_step_with_the_place_of_each_error(shop: Housed) -> None:
    (shop.lives / "plan.floorplan").write_text(BROKEN)

    done = step(shop, "action: render", "path: plan.floorplan", "retry: 3")

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == "wrong-plan"
    assert done.error["message"].startswith("line 3:53: Expected a wall type")
    assert done.error["details"]["errors"][0]["line"] == 3


def test_a_wrong_plan_is_an_answer_where_it_is_only_checked(shop: Housed) -> None:
    (shop.lives / "plan.floorplan").write_text(BROKEN)

    done = step(shop, "action: validate", "path: plan.floorplan", result="{{ draw.valid }}")

    assert (done.status, done.result) == ("completed", False)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../plan.floorplan", "outside-folders"),
        ("/etc/passwd", "outside-folders"),
        ("loop/passwd", "link"),
    ],
)
def test_a_plan_outside_the_folders_is_not_read(shop: Housed, path: str, code: str) -> None:
    (shop.lives / "loop").symlink_to("/etc")

    done = step(shop, "action: validate", f"path: {path}")

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == code


def test_a_wrong_operation_is_told_at_its_place(shop: Housed) -> None:
    done = step(
        shop,
        "action: modify",
        "path: plan.floorplan",
        "operations: [{action: resize_room, target: Office, params: {widht: 3, height: 1}}]",
    )

    assert done.error is not None
    assert done.error["code"] == "wrong-arguments"
    assert "did you mean 'width'" in done.error["message"]
    assert "operations[0].params" in done.error["message"]


def test_a_server_does_it_when_one_is_named(shop: Housed) -> None:
    async def served() -> Done:
        async with floorplan_server() as url:
            return await asyncio.to_thread(
                step,
                shop,
                "action: render",
                "path: plan.floorplan",
                "format: svg",
                f"endpoint: {url}",
                result="{{ draw.svg[:4] }}",
            )

    done = asyncio.run(served())

    assert (done.status, done.result) == ("completed", "<svg")
