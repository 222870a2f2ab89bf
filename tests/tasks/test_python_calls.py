import base64
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.playbook.load import load
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.python.calling import WHOLE, arguments
from noetl_mcp.tasks.python.failures import Refused
from noetl_mcp.tasks.registry import BUILT_IN
from tests.tasks.python_steps import call, result_of

GIVEN = {"mark": "D-101", "level": 2}


def called(text: str, given: Any, auth: Any = None) -> Any:
    """Define `main` and call it as a step would."""
    names: dict[str, Any] = {}
    exec(text, names)
    args, kwargs = arguments(names["main"], "main", given, auth)
    return names["main"](*args, **kwargs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def main(): return 'nothing'", "nothing"),
        ("def main(mark): return mark", "D-101"),
        ("def main(level, mark): return [mark, level]", ["D-101", 2]),
        ("def main(mark, width=900): return [mark, width]", ["D-101", 900]),
        ("def main(mark, level=0): return level", 2),
        ("def main(*, mark): return mark", "D-101"),
        ("def main(mark, /, level): return [mark, level]", ["D-101", 2]),
        ("def main(width=900, /, *, mark): return [mark, width]", ["D-101", 900]),
        ("def main(mark='', width=1, /): return [width, mark]", [1, "D-101"]),
        ("def main(**all): return all", GIVEN),
        ("def main(mark, **rest): return [mark, rest]", ["D-101", {"level": 2}]),
        ("def main(mark, /, **rest): return [mark, rest]", ["D-101", {"level": 2}]),
        ("def main(*rest, mark): return [rest, mark]", [(), "D-101"]),
        ("def main(input_data): return input_data", GIVEN),
        ("def main(input_data=None): return input_data", GIVEN),
        ("def main(input_data, level=0): return [input_data, level]", [GIVEN, 2]),
        ("class main:\n  def __new__(cls, mark): return mark", "D-101"),
        (
            "from functools import partial\nmain = partial(lambda a, mark: [a, mark], 1)",
            [1, "D-101"],
        ),
        ("main = lambda mark: mark", "D-101"),
    ],
)
def test_main_is_called_by_its_signature(text: str, expected: Any) -> None:
    assert called(text, GIVEN) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def main(mark, width): pass", "width"),
        ("def main(input_data, level): pass", "input_data"),
        ("def main(input_data, **rest): pass", "input_data"),
        ("def main(*, width): pass", "width"),
        ("def main(width=1, mark='', /): pass", "width"),
    ],
)
def test_a_parameter_that_gets_no_value_is_named(text: str, name: str) -> None:
    with pytest.raises(Refused, match=f"'main' wants '{name}', which is not in the step's data"):
        called(text, GIVEN)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_lone_parameter_gets_the_whole_input_under_the_names_the_compiler_knows(
    name: str,
) -> None:
    code = f"def main({name}): return {name}"
    step = f"workflow:\n  - {{step: start, type: python, data: {{n: 1}}, code: '{code}'}}\n"
    loaded = load(f"kind: Playbook\nmetadata: {{name: n, path: p/n}}\n{step}", "n.yaml")

    compile_playbook(loaded, BUILT_IN)

    assert "NP505" not in [one.rule.code for one in loaded.report]
    assert called(code, {"n": 1}) == {"n": 1}
    assert called(code, {name: 5}) == 5


def test_a_decorated_main_is_called_by_the_signature_it_shows() -> None:
    code = """
from functools import wraps
def twice(f):
    @wraps(f)
    def inner(*args, **kwargs):
        return [f(*args, **kwargs)] * 2
    return inner
@twice
def main(mark): return mark
"""

    assert called(code, GIVEN) == ["D-101", "D-101"]


@pytest.mark.parametrize("given", [[1, 2], "text", 7, 1.5, False])
def test_an_input_that_is_no_map_is_the_only_argument(given: Any) -> None:
    assert called("def main(rows, most=3): return rows", given) == given
    assert called("def main(*rows): return rows[0]", given) == given
    assert called("def main(): return 'ignored'", given) == "ignored"
    with pytest.raises(Refused, match="wants 'a', 'b' by name, and the step's data is"):
        called("def main(a, b): return a", given)
    with pytest.raises(Refused, match="by name"):
        called("def main(**all): return all", given)


def test_a_missing_argument_is_told_with_what_there_is() -> None:
    with pytest.raises(Failed) as failed:
        result_of(call("def main(mark, width): return 1", GIVEN))

    assert failed.value.code == "bad-call"
    assert failed.value.message == (
        "'main' wants 'width', which is not in the step's data; given: 'mark', 'level'"
    )
    assert not failed.value.retriable


def test_without_any_input_that_is_told_too() -> None:
    with pytest.raises(Failed, match=r"wants 'a', 'b', which are not in .*; given: nothing"):
        result_of(call("def main(a, b): return 1"))


def test_a_credential_comes_as_auth_when_main_asks_for_it() -> None:
    one = {"": {"user": "reader", "password": Secret("hush")}}
    two = {"pg": {"user": "a"}, "cde": {"token": "t"}}
    code = "def main(mark, auth=None): return auth"

    assert result_of(call(code, GIVEN, auth=one)) == {"user": "reader", "password": "hush"}
    assert result_of(call(code, GIVEN, auth=two)) == two
    assert called("def main(auth): return auth", {"auth": 1}, auth={"user": "a"}) == 1
    assert called(code, GIVEN) is None


def test_helpers_see_each_other_and_the_imports() -> None:
    code = """
import math
LIMIT = 3
def double(n): return n * 2
def more(n): return double(n) + LIMIT
def main(n): return [more(n), [double(i) for i in range(2)], math.floor(1.5)]
"""

    assert result_of(call(code, {"n": 5})) == [13, [0, 2], 1]


def test_an_async_main_is_awaited() -> None:
    code = """
import asyncio
async def main(n):
    return await asyncio.gather(*(asyncio.sleep(0, i) for i in range(n)))
"""

    assert result_of(call(code, {"n": 3})) == [0, 1, 2]


def test_code_without_a_function_gives_its_variable_result() -> None:
    assert result_of(call("result = [n + 1, input_data['n']]", {"n": 1})) == [2, 1]
    assert result_of(call("result = input_data", [1])) == [1]


def test_names_of_the_input_hide_no_builtin_where_there_is_a_main() -> None:
    code = "def main(**given): return [list(given), type(1).__name__]"

    assert result_of(call(code, {"list": 1, "type": 2})) == [["list", "type"], "int"]


@pytest.mark.parametrize(
    ("code", "function", "words"),
    [
        ("def other(): return 1", "main", "neither a function 'main' nor a 'result'"),
        ("main = 5", "main", "'main' in the code is no function"),
        ("result = 5", "calc", "no function 'calc'"),
    ],
)
def test_code_without_what_is_to_be_called_is_refused(code: str, function: str, words: str) -> None:
    with pytest.raises(Failed, match=words) as failed:
        result_of(call(code, {"main": 1}, function=function))

    assert failed.value.code == "no-main"


def test_another_function_can_be_named() -> None:
    code = "def main(): return 1\ndef count(rows): return len(rows)"

    assert result_of(call(code, {"rows": [1, 2]}, function="count")) == 2


def test_libs_are_there_under_their_names() -> None:
    code = "def main(): return [js.dumps([1]), join('a', 'b')]"

    with pytest.raises(Failed, match="No module named 'no_such'") as failed:
        result_of(call(code, libs={"js": "no_such"}))
    assert failed.value.code == "missing-module"
    code = "def main(): return [js.dumps([1]), path.join('a', 'b')]"
    assert result_of(call(code, libs={"js": "json", "path": "os.path"})) == ["[1]", "a/b"]


def test_packages_are_looked_for_and_never_installed() -> None:
    code = "def main(): return 1"

    assert result_of(call(code, packages=["orjson", "PyYAML>=6, <7", "pydantic[email]"])) == 1
    with pytest.raises(Failed) as failed:
        result_of(call(code, packages=["no-such-thing", "orjson>=99", "orjson ~~ 3"]))
    assert failed.value.code == "missing-package"
    assert "'no-such-thing' is not installed; 'orjson>=99' is wanted, and 3." in str(failed.value)
    assert "'orjson ~~ 3' is not understood" in str(failed.value)


def test_what_is_installed_can_be_imported() -> None:
    assert result_of(call("import orjson\ndef main(): return orjson.loads('[1]')")) == [1]


def test_code_may_come_in_base64() -> None:
    text = base64.b64encode("def main(): return 'Geschoß'".encode()).decode()

    assert result_of(call(code_b64=text[:10] + "\n" + text[10:])) == "Geschoß"
    with pytest.raises(Failed, match="is not text in UTF-8"):
        result_of(call(code_b64=base64.b64encode(b"\xff\xfe").decode()))


def test_a_script_is_read_below_an_allowed_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    script = tmp_path / "sub" / "count.py"
    script.write_text("\ufeffdef main(n):\n    raise ValueError(n)")
    folders = [tmp_path / "absent", tmp_path]

    for name in ("sub/count.py", str(script)):
        with pytest.raises(Failed, match="ValueError: 3") as failed:
            result_of(call(script=name, data={"n": 3}), folders=folders)
        assert failed.value.details["line"] == 2  # type: ignore[index,call-overload]


def test_a_changed_script_is_read_anew(tmp_path: Path) -> None:
    script = tmp_path / "one.py"
    script.write_text("def main(): return 1")
    assert result_of(call(script="one.py"), folders=[tmp_path]) == 1

    script.write_text("def main(): return 2")

    assert result_of(call(script="one.py"), folders=[tmp_path]) == 2


def test_a_script_elsewhere_is_refused(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "x.py").write_text("def main(): return 1")
    (inside / "link.py").symlink_to(outside / "x.py")
    (inside / "folder").symlink_to(outside)
    (inside / "loop.py").symlink_to(inside / "loop.py")

    def code_of(script: str, folders: list[Path]) -> str:
        with pytest.raises(Failed) as failed:
            result_of(call(script=script), folders=folders)
        return failed.value.code

    for script in ("../out/x.py", str(outside / "x.py"), "link.py", "folder/x.py", "/no/such.py"):
        assert code_of(script, [inside]) == "script-refused"
    for script in ("absent.py", "loop.py", "a\0b", "."):
        assert code_of(script, [inside]) == "no-script"
    assert code_of("x.py", []) == "script-refused"


def test_a_script_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_bytes(b"\xff\xfe")

    with pytest.raises(Failed, match="cannot be read: it is not UTF-8"):
        result_of(call(script="x.py"), folders=[tmp_path])


def test_an_input_that_is_no_json_is_told() -> None:
    with pytest.raises(Failed, match="cannot be handed over") as failed:
        result_of(call("def main(n): return n", {"n": object()}))
    assert failed.value.code == "bad-input"
    with pytest.raises(Failed, match="cannot be handed over"):
        result_of(call("def main(n): return n", {"n": 2**70}))


def test_values_keep_their_types_on_both_ways() -> None:
    given = {
        "i": 1,
        "f": 1.0,
        "t": "007",
        "n": None,
        "b": True,
        "l": [1, {"a": []}],
        "e": "é\u2028",
    }

    assert result_of(call("def main(**all): return all", given)) == given


def test_much_is_handed_over_and_back() -> None:
    rows = [{"id": number, "text": "x" * 100} for number in range(20_000)]

    result = result_of(call("def main(rows): return rows + rows", {"rows": rows}))

    assert len(result) == 40_000
    assert result[-1] == rows[-1]
