"""Settings and inputs of a plan, rendered."""

from collections.abc import Sequence

import pytest

from noetl_mcp.broker.results import view
from noetl_mcp.broker.trees import Tree
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import Renderer, RenderError, compile_text
from noetl_mcp.playbook.rendering.secret import Secret

TEXTS = (
    "{{ a.b }}",
    "n={{ a.b }}",
    "{{ a.items() | list }}",
    "{{ nowhere.at.all }}",
    "Bearer {{ token }}",
    "{{ token }}",
    "{{ each }}",
    "{{ s | dictsort }}",
)
EACH: Json = {"items": 1, "results": [{"x": 1}], "count": 1, "errors": []}
SCOPE: dict[str, object] = {
    "a": {"b": 3},
    "token": Secret("s3cr3t"),
    "each": view("iterator", EACH),
    "s": {"k": [1, 2]},
}


def tree(value: Json, texts: Sequence[str] = TEXTS) -> Tree:
    return Tree(value, [compile_text(text) for text in texts], "input")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ({"$t": 0}, 3),
        ([{"$t": 0}, {"$t": 1}, True], [3, "n=3", True]),
        ({"x": {"$t": 0}, "y": {"z": [{"$t": 1}]}}, {"x": 3, "y": {"z": ["n=3"]}}),
        ({"$lit": {"$t": {"$t": 0}, "k": 1}}, {"$t": 3, "k": 1}),
        ({"$lit": {"$lit": {"$t": 0}}}, {"$lit": 3}),
        ({"a": {"$lit": {"$t": 5}}}, {"a": {"$t": 5}}),
        ({"$t": 2}, [["b", 3]]),
        ({"$t": 6}, EACH),
        ({"$t": 7}, [["k", [1, 2]]]),
        ("{{ a.b }}", "{{ a.b }}"),
        (None, None),
    ],
)
def test_a_tree_gives_plain_json(written: Json, value: Json) -> None:
    given = tree(written).render(SCOPE)

    assert given == value
    assert type(given) is type(value)


def test_keys_stay_in_the_order_they_were_written_in() -> None:
    given = tree({"z": {"$t": 0}, "a": 1, "m": {"$t": 1}}).render(SCOPE)

    assert list(given) == ["z", "a", "m"]


def test_a_tree_without_templates_is_one_value_for_all() -> None:
    constant, open_one = tree({"x": [1, {"y": 2}]}), tree({"x": [1, {"y": {"$t": 0}}], "z": [1]})

    assert constant.constant
    assert constant.render(SCOPE) is constant.render({})
    assert not open_one.constant
    one, other = open_one.render(SCOPE), open_one.render(SCOPE)
    assert one == other == {"x": [1, {"y": 3}], "z": [1]}
    assert one is not other
    assert one["x"] is not other["x"]


def test_a_secret_stays_covered() -> None:
    given = tree({"auth": {"$t": 4}, "raw": [{"$t": 5}]}).render(SCOPE)

    assert isinstance(given["auth"], Secret)
    assert given["auth"].reveal() == "Bearer s3cr3t"
    assert "s3cr3t" not in str(given)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"$t": 3}, "input: {{ nowhere.at.all }}: 'nowhere.at.all' is unknown: no 'nowhere'"),
        ({"x": {"$t": 3}}, "input.x: {{ nowhere.at.all }}: "),
        ({"x": [1, {"a-b": {"$t": 3}}]}, "input.x[1]['a-b']: {{ nowhere.at.all }}: "),
    ],
)
def test_an_error_tells_where_it_stands(written: Json, told: str) -> None:
    with pytest.raises(RenderError) as caught:
        tree(written).render(SCOPE)

    assert str(caught.value).startswith(told)
    assert caught.value.at[0] == "input"


@pytest.mark.parametrize(
    "text",
    ["{{ {1: 2} }}", "{{ [dict([[1, 2]])] }}", "{{ 1e308 * 10 }}", "{{ 'inf' | float }}"],
)
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(RenderError, match="JSON cannot hold this value"):
        tree({"x": {"$t": 0}}, [text]).render({})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ (1, (2, 3)) }}", [1, [2, 3]]),
        ("{{ [range(2)] }}", [[0, 1]]),
        ("{{ {'x': rows | groupby('k')} }}", {"x": [[1, [{"k": 1}]]]}),
        ("{{ rows | map('items') | map('list') | list }}", [[["k", 1]]]),
        ("{{ 'a-b'.partition('-') }}", ["a", "-", "b"]),
        ("{{ rows | batch(2) | list }}", [[{"k": 1}]]),
    ],
)
def test_what_templates_put_together_becomes_lists(text: str, value: Json) -> None:
    given = tree([{"$t": 0}], [text]).render({"rows": [{"k": 1}]})

    assert given == [value]


def test_templates_are_compiled_when_a_tree_is_first_rendered() -> None:
    class Asked(list[Renderer]):
        def __getitem__(self, number: object) -> Renderer:  # type: ignore[override] # one by one
            asked.append(number)
            return compile_text(TEXTS[0])

    asked: list[object] = []
    made = Tree({"x": {"$t": 0}}, Asked())

    assert not asked
    made.render(SCOPE)
    made.render(SCOPE)
    assert asked == [0]


def test_a_part_of_a_tree_is_a_tree() -> None:
    assert tree({"$t": 0}).part("x") is None
    assert tree({"max": 3}).part("nothing") is None
    assert tree({"max": 3}).part("max") is not None
    saves = tree([{"data": {"$t": 3}}, {"data": {"$t": 0}}])
    second = saves.part(1)
    assert second is not None
    assert second.render(SCOPE) == {"data": 3}
    first = saves.part(0)
    assert first is not None
    with pytest.raises(RenderError, match=r"^input\[0\]\.data: "):
        first.render(SCOPE)


def test_a_value_of_texts_is_a_tree_too() -> None:
    prompt = Tree([{"role": "user", "content": "Say {{ a.b }}"}], None, "prompts", "short")

    assert prompt.render(SCOPE) == [{"role": "user", "content": "Say 3"}]
    assert Tree("plain", None).constant
    with pytest.raises(RenderError, match=r"^prompts\.short: \{\{ b \}\}: 'b' is unknown"):
        Tree("{{ b }}", None, "prompts", "short").render(SCOPE)
