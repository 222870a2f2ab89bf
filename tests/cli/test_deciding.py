"""What is decided at the command line reaches workers that sleep, whoever carries the hints."""

from pathlib import Path

import pytest

from noetl_mcp.worker.hints import WAKE
from tests.cli.test_operations import Here
from tests.postgres import database, postgres  # noqa: F401  # fixtures
from tests.worker.brokers import free_port, redis
from tests.worker.conftest import shop  # noqa: F401  # a fixture
from tests.worker.shop import Shop
from tests.worker.test_hints import within
from tests.worker.test_pool import carried, sleeper


@pytest.fixture
def here(database: str, tmp_path: Path, shop: Shop) -> Here:  # noqa: F811  # fixtures
    return Here(database, tmp_path / "home", shop)


def test_a_decision_wakes_the_pools_of_those_that_sleep(here: Here) -> None:
    failed, parked = here.failed(), here.parked()
    sleeper(here.shop, "", "~")
    sleeper(here.shop, "revit")
    with (
        redis(free_port()) as url,
        carried(url, here.shop) as (_, usual),
        carried(url, here.shop, ("revit",)) as (_, revit),
    ):
        here.environment["NOETL_BROKER"] = url
        for count, command in enumerate(
            (
                ("retry", failed),
                ("pause", parked),
                ("resume", parked),
                ("approve", parked, "ask"),
                ("rerun", failed),
            ),
            1,
        ):
            assert here(*command).code == 0

            told = [f"{WAKE} "] * count
            within(lambda told=told: usual == revit == told)  # type: ignore[misc]


def test_what_is_refused_or_only_looked_at_wakes_nobody(here: Here) -> None:
    failed = here.failed()
    sleeper(here.shop, "")
    with redis(free_port()) as url, carried(url, here.shop) as (_, usual):
        here.environment["NOETL_BROKER"] = url

        assert here("pause", failed).code == 1
        assert here("show", failed).code == 0
        assert here("rerun", failed).code == 0

        within(lambda: usual == [f"{WAKE} "])


def test_events_outside_of_their_days_are_told(here: Here) -> None:
    before = here("status")
    here.shop.records.connection.execute(
        "insert into noetl.event (ts, kind, execution_id) values ('2001-01-01', 35, 1)"
    )

    after = here("status")

    assert "outside of their days" not in before.out
    assert "attention   1 events lie outside of their days; see: doctor" in after.out
    assert here("status", "--json").json()["astray"] == 1
