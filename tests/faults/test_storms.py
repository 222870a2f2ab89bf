"""Playbooks by chance, in a storm: nothing is lost, nothing is written twice, the log is true."""

from pathlib import Path

import pytest

from tests.faults.server import crash, own_server
from tests.faults.trial import MILD, SEVERE, Outcome, Terms, endure, saved


def check(found: Outcome, folder: Path) -> None:
    saved(found, folder)
    assert found.broken == []
    assert found.is_over
    assert found.have_left


def test_nothing_is_lost_when_nothing_happens(database: str, tmp_path: Path) -> None:
    check(endure(database, Terms(1, books=6, times=1, seconds=0, losses=0, workers=2)), tmp_path)


def test_promises_hold_in_a_short_storm(database: str, tmp_path: Path) -> None:
    found = endure(
        database, Terms(2, books=10, times=1, backlog=15, seconds=6, every=0.3, workers=2, most=12)
    )

    check(found, tmp_path)
    assert sum(found.faults.values()) > 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_promises_hold_in_a_long_storm(database: str, tmp_path: Path, seed: int) -> None:
    check(endure(database, Terms(seed, books=60, backlog=60, seconds=60)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MILD)
def test_promises_hold_whatever_happens_all_the_time(
    database: str, tmp_path: Path, kind: str
) -> None:
    terms = Terms(3, books=30, backlog=40, seconds=30, every=0.3, kinds=(kind,), losses=0)

    check(endure(database, terms), tmp_path)


@pytest.mark.slow
def test_promises_hold_when_every_twentieth_answer_is_lost(database: str, tmp_path: Path) -> None:
    terms = Terms(4, books=30, backlog=40, seconds=20, kinds=("hints",), losses=0.05)

    check(endure(database, terms), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_promises_hold_when_the_database_is_killed(tmp_path: Path, seed: int) -> None:
    terms = Terms(seed, books=50, backlog=40, seconds=60, every=1.5, kinds=SEVERE, lease=2.0)
    with own_server() as (home, dsn):
        check(endure(dsn, terms, crash=lambda: crash(home)), tmp_path)
