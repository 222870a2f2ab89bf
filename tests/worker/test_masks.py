from noetl_mcp.playbook.rendering.secret import MASK
from noetl_mcp.worker.masks import Mask, secrets_of
from tests.worker.shop import Shop

CREDENTIAL = {
    "type": "service",
    "host": "db.example",
    "password": "plain-S3cret",
    "verified": True,
    "proxy": None,
    "pin": 12345,
    "more": {"user": "alice", "keys": ["deep-S3cret"]},
}


def test_the_secrets_of_a_credential_are_found_however_deep_they_are() -> None:
    assert list(secrets_of(CREDENTIAL)) == ["plain-S3cret", "12345", "deep-S3cret"]


def test_secrets_are_masked_in_keys_too() -> None:
    mask = Mask()
    mask.add(secrets_of(CREDENTIAL))

    shown = mask.value({"plain-S3cret": {"a deep-S3cret": ["12345", 12]}, "alice": "db.example"})

    assert shown == {MASK: {f"a {MASK}": [MASK, 12]}, "alice": "db.example"}


def test_what_a_program_gives_back_and_prints_of_a_credential_is_masked(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - step: start
    type: python
    auth: {db: {type: postgres, user: alice, more: {token: deep-S3cret}}}
    code: |
      def main(auth=None):
          token = auth["db"]["more"]["token"]
          print("it is", token)
          return {token: auth, "user": auth["db"]["user"]}
    next: [end]
  - {step: end, result: "{{ start }}"}
"""
    )

    told = shop.records.connection.execute("select data from noetl.event").fetchall()
    assert done.result == {
        MASK: {"db": {"type": "postgres", "user": "alice", "more": {"token": MASK}}},
        "user": "alice",
    }
    assert "deep-S3cret" not in str(told)
