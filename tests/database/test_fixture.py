from noetl_mcp.database import connect


def test_every_test_has_a_database_of_its_own(database: str, empty_database: str) -> None:
    with connect(database, application_name="one") as one:
        one.execute("create table only_here (a int)")

    with connect(empty_database, application_name="two") as two:
        row = two.execute("select to_regclass('only_here')").fetchone()

    assert row == (None,)
