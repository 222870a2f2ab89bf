"""Steps that print so much that it is cut: no part of a secret is left at any edge."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.worker.bench import Bench
from tests.postgres import database  # noqa: F401  # a fixture of this module
from tests.worker.shop import Shop

TOKEN = 's3cr3t-T0ken/+&"x'


class Allowing(Shop):
    """A shop whose workers run commands."""

    def bench(self) -> Bench:
        bench = super().bench()
        bench.shell = True
        return bench


@pytest.fixture
def shop(database: str, tmp_path: Path) -> Iterator[Allowing]:  # noqa: F811  # asked for
    made = Allowing(database, tmp_path / "lives")
    made.secrets = World(secrets={"tok": Secret(TOKEN)})
    yield made
    made.close()


def kept(shop: Shop) -> str:
    """Return everything that the database keeps of what was done."""
    connection = shop.records.connection
    found = connection.execute("select data from noetl.event").fetchall()
    found += connection.execute("select result, error, note, answer from noetl.step").fetchall()
    return "".join(str(one) for row in found for one in row)


def parts_in(text: str) -> list[str]:
    """Return the parts of the secret, four signs or longer, that can be read in a text."""
    read = text.replace('\\"', '"')
    parts = {TOKEN[at : at + 4] for at in range(len(TOKEN) - 3)}
    return sorted(one for one in parts if one in read)


def of(sign: str, count: int) -> str:
    return f"head -c {count} /dev/zero | tr '\\0' {sign}"


COMMANDS = {
    "last words": f"({of('a', 5000)}; echo -n $S; {of('b', 1985)}) >&2; exit 3",
    "head": f"{of('a', 492)}; echo -n $S; {of('b', 3000)}",
    "tail": f"{of('a', 3000)}; echo -n $S; {of('b', 485)}",
    "both": f"{of('a', 495)}; echo -n $S; {of('c', 500)}; echo -n $S; {of('b', 491)}",
    "a failure of both": f"({of('a', 495)}; echo -n $S; {of('b', 491)}; echo -n $S) >&2; exit 3",
    "a long line": f"{of('a', 16375)}; echo -n $S; {of('b', 16384)}",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("most", [1_000, 1_000_000])
def test_a_command_that_prints_a_lot_shows_no_part_of_a_secret(
    shop: Allowing, command: str, most: int
) -> None:
    done = shop.run(
        f"""
workflow:
  - step: start
    type: shell
    writes: false
    max_output_bytes: {most}
    env: {{S: "{{{{ secrets.tok }}}}"}}
    command: |
      {command}
    next: [end]
  - {{step: end, result: "{{{{ start }}}}"}}
"""
    )

    assert done.error is None or done.error["code"] == "exit-code"
    assert parts_in(kept(shop)) == []


@pytest.mark.parametrize("behind", [2026, 4079, 4080, 4084, 4090, 8170])
def test_a_server_that_prints_a_lot_and_ends_shows_no_part_of_a_secret(
    shop: Allowing, behind: int
) -> None:
    done = shop.run(
        f"""
workflow:
  - step: start
    type: mcp
    command:
      - sh
      - -c
      - |
        (echo -n $S; {of("b", behind)}) >&2; exit 3
    env: {{S: "{{{{ secrets.tok }}}}"}}
    list: tools
"""
    )

    assert done.error is not None
    assert re.search("b{900}", done.error["message"])
    assert parts_in(kept(shop)) == []


@pytest.mark.parametrize(
    "program",
    [
        "raise type(t, (Exception,), {})('x')",
        "raise type('A' + t, (Exception,), {})('x')",
        "raise type('x' * 1990 + t, (Exception,), {})('x')",
    ],
)
def test_an_error_named_like_a_secret_does_not_show_it(shop: Allowing, program: str) -> None:
    shop.secrets = World(secrets={"tok": Secret("hunterpassword")})

    done = shop.run(
        f"""
workflow:
  - step: start
    type: python
    data: {{t: "{{{{ secrets.tok }}}}"}}
    code: |
      def main(t):
          {program}
"""
    )

    assert done.error is not None
    assert done.error["code"] == "error"
    assert "hunt" not in kept(shop)
