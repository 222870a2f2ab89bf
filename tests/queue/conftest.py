from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
