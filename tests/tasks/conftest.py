"""What the tests of tasks need: a Postgres."""

from tests.postgres import empty_database, postgres  # noqa: F401 - fixtures
