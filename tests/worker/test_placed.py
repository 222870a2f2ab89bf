import os
import threading

from noetl_mcp.worker.placed import lines


def test_lines_are_heard_whole_however_they_come() -> None:
    long = b"x" * 5_000_000
    told = [b"a", b"", long, b"b" * 70_000, b"c"]
    heard, said = os.pipe()

    def say() -> None:
        with os.fdopen(said, "wb") as file:
            file.write(b"\n".join(told) + b"\nbroken off")

    thread = threading.Thread(target=say)
    thread.start()
    found = list(lines(heard))
    thread.join()
    os.close(heard)

    assert found == [one + b"\n" for one in told]
