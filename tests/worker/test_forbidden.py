"""What may not be done here is tried once, however a step says that it wants to try again."""

import pytest

from tests.worker.shop import Shop


@pytest.mark.parametrize("when", ["", ", retry_when: true"])
def test_a_write_where_only_reading_is_allowed_is_tried_once(shop: Shop, when: str) -> None:
    done = shop.run(
        "workflow:\n  - {step: start, next: [a]}\n  - {step: a, type: change, confirm: true,"
        f" retry: {{max_attempts: 4, initial_delay: 0{when}}}}}\n",
        labels='{"noetl.gates":"read-only"}',
    )

    assert (done.status, done.rows["a"][1]) == ("failed", 1)
    assert done.error is not None
    assert done.error["code"] == "read-only"
    assert "start it anew with 'run' where writes are allowed" in done.error["message"]
    assert shop.kinds(done.id, "a").count("action_retry") == 0
