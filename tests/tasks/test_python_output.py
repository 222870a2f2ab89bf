from noetl_mcp.tasks.python.output import LONGEST_LINE, Output
from tests.tasks.python_steps import Recording, call, result_of


def logged(*pieces: bytes, most: int = 1_000_000) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    output = Output(lambda text, stream: lines.append((stream, text)), most)
    for piece in pieces:
        output.feed("stdout", piece)
    output.close()
    return lines


def texts(*pieces: bytes, most: int = 1_000_000) -> list[str]:
    return [text for _, text in logged(*pieces, most=most)]


def test_lines_are_put_together_from_pieces() -> None:
    assert texts(b"one\ntw", b"o\r\n\nGescho\xc3", b"\x9f\n") == ["one", "two", "", "Geschoß"]


def test_what_has_no_line_end_is_a_line_too() -> None:
    assert texts(b"one\ntwo") == ["one", "two"]


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert texts(b"a\xff\0b\n\xc3") == ["a��b", "�"]


def test_output_beyond_the_bound_is_dropped_visibly() -> None:
    assert logged(b"12345\n6789\n", b"more\n", most=8) == [
        ("stdout", "12345"),
        ("stdout", "67"),
        ("stderr", "… 8 more bytes were printed and dropped"),
    ]


def test_a_line_without_end_is_cut_into_lines() -> None:
    assert [len(line) for line in texts(*[b"x" * 10_000] * 5)] == [20_000, 20_000, 10_000]
    assert LONGEST_LINE < 20_000


def test_both_streams_are_logged() -> None:
    around = Recording()
    code = """
import os, subprocess, sys
def main():
    print("to stdout")
    print("to stderr", file=sys.stderr)
    subprocess.run("echo from another; echo its error >&2", shell=True)
    print("no end", end="")
    return 1
"""

    result_of(call(code, around=around))

    assert sorted(around.lines) == [
        ("stderr", "its error"),
        ("stderr", "to stderr"),
        ("stdout", "from another"),
        ("stdout", "no end"),
        ("stdout", "to stdout"),
    ]


def test_what_libs_print_while_they_are_imported_is_logged() -> None:
    around = Recording()

    result_of(call("def main(): pass", libs={"this": "this"}, around=around))

    assert around.texts[0] == "The Zen of Python, by Tim Peters"


def test_anything_may_be_written_to_the_descriptors_of_output() -> None:
    around = Recording()
    code = """
import os, struct
def main():
    for descriptor in (1, 2):
        os.write(descriptor, bytes(range(256)) + struct.pack(">BBHI", 3, 0, 1, 4) + b"null")
    os.write(1, b"\\n")
    return "the answer"
"""

    assert result_of(call(code, around=around)) == "the answer"
    assert len(around.lines) >= 2


def test_programs_that_it_starts_inherit_no_descriptor_of_ours() -> None:
    around = Recording()
    code = """
import subprocess
def main():
    subprocess.run("ls -l /proc/self/fd", shell=True, close_fds=False)
"""

    result_of(call(code, around=around))

    assert not [text for text in around.texts if "socket:" in text]
    assert len([text for text in around.texts if "pipe:" in text]) <= 2


def test_much_output_is_read_while_the_program_runs() -> None:
    around = Recording()
    code = "def main():\n    print('x' * 999_999)\n    print('y' * 999_999)\n    return 1"

    assert result_of(call(code, around=around, max_output_bytes=1_000_000)) == 1

    assert sum(text.count("x") for text in around.texts) == 999_999
    assert around.lines[-1] == ("stderr", "… 1,000,000 more bytes were printed and dropped")


def test_half_characters_are_printed_without_failing() -> None:
    around = Recording()

    result_of(call("def main(): print('\\ud800 Geschoß')", around=around))

    assert around.texts == ["\\ud800 Geschoß"]


def test_a_replaced_stdout_is_put_back() -> None:
    around = Recording()
    code = "import io, sys\ndef main():\n    sys.stdout = io.StringIO()\n    print('into the void')"

    result_of(call(code, around=around))

    assert around.texts == []
