from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.worker.conftest import shop  # noqa: F401  # fixtures of this station
