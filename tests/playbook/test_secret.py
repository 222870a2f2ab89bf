import copy
import json
import pickle
from types import MappingProxyType

import orjson
import pytest
from jinja2 import TemplateRuntimeError

from noetl_mcp.playbook.rendering.render import RenderError, compile_text
from noetl_mcp.playbook.rendering.secret import MASK, Secret, covered, uncovered

KEY = "zQ7wK9"
SCOPE = {
    "secrets": {
        "key": Secret(KEY),
        "other": Secret("abc"),
        "json": Secret('{"user": "u", "n": 5}'),
    },
    "plain": "see",
    "tpl": Secret("zQ7wK9 {{ x }} {{ nope }}"),
}


def rendered(text: str) -> object:
    return compile_text(text)(SCOPE)


@pytest.mark.parametrize("show", [str, repr, "{}".format, "{:>20}".format, lambda s: f"{s!r}"])
def test_a_secret_shows_only_a_mask(show: object) -> None:
    shown = show(Secret(KEY))  # type: ignore[operator]

    assert shown == MASK


def test_a_secret_gives_its_text_only_when_asked() -> None:
    assert Secret(KEY).reveal() == KEY


def test_a_secret_is_no_text() -> None:
    assert not isinstance(Secret(KEY), str)


def test_a_secret_put_together_with_text_is_a_secret() -> None:
    both = "Bearer " + Secret(KEY) + "!"

    assert isinstance(both, Secret)
    assert both.reveal() == f"Bearer {KEY}!"


def test_two_secrets_put_together_are_a_secret() -> None:
    assert (Secret("a") + Secret("b")).reveal() == "ab"


def test_a_secret_is_not_added_to_a_number() -> None:
    with pytest.raises(TypeError):
        Secret("1") + 1  # type: ignore[operator]


def test_a_secret_equals_the_same_text_and_the_same_secret() -> None:
    assert Secret(KEY) == KEY
    assert Secret(KEY) == Secret(KEY)
    assert Secret(KEY) != "other"
    assert {KEY: 1}[Secret(KEY)] == 1  # type: ignore[index]


def test_secrets_have_length_and_truth() -> None:
    assert len(Secret("abc")) == 3
    assert not Secret("")


def test_secrets_have_no_order_and_nothing_is_looked_for_in_them() -> None:
    with pytest.raises(TemplateRuntimeError, match="no order"):
        sorted([Secret("b"), Secret("a")])
    with pytest.raises(TemplateRuntimeError, match="looked for"):
        assert "a" in Secret("abc")


def test_a_secret_knows_what_it_was_made_of() -> None:
    both = Secret("abcd") + "-" + Secret("wxyz")

    assert both.atoms == {"abcd", "wxyz"}
    assert both[:4].atoms == {"abcd", "wxyz"}
    assert both[2:6].atoms == {"abcd", "wxyz", "cd-w"}


def test_only_whole_secrets_are_equal_to_anything() -> None:
    assert Secret("abc") + "d" == "abcd"
    with pytest.raises(TemplateRuntimeError, match="only whole secrets"):
        assert Secret("abc")[0] == "a"


def test_pieces_of_a_secret_are_secrets() -> None:
    assert isinstance(Secret(KEY)[0], Secret)
    assert all(isinstance(piece, Secret) for piece in Secret(KEY))


@pytest.mark.parametrize("dumps", [json.dumps, orjson.dumps, pickle.dumps])
def test_a_secret_cannot_be_serialised_by_accident(dumps: object) -> None:
    with pytest.raises((TypeError, pickle.PicklingError)):
        dumps({"key": Secret(KEY)})  # type: ignore[operator]


def test_a_copy_of_a_value_keeps_its_secrets() -> None:
    assert copy.deepcopy({"key": [Secret(KEY)]}) == {"key": [Secret(KEY)]}


def test_texts_inside_a_value_can_be_covered_and_uncovered() -> None:
    value = {"a": ["x", 1, ("y",)]}

    hidden = covered(value)

    assert repr(hidden) == f"{{'a': [{MASK}, 1, ({MASK},)]}}"
    assert uncovered(hidden) == value


@pytest.mark.parametrize(
    ("text", "revealed"),
    [
        ("{{ secrets.key }}", KEY),
        ("Bearer {{ secrets.key }}", f"Bearer {KEY}"),
        ("{{ 'Bearer ' ~ secrets.key }}", f"Bearer {KEY}"),
        ("{{ 'Bearer ' + secrets.key }}", f"Bearer {KEY}"),
        ("{{ secrets.key * 2 }}", KEY * 2),
        ("{{ secrets.key[0:2] }}", "zQ"),
        ("{{ '%s!' % secrets.key }}", f"{KEY}!"),
        ("{{ '%s %s' % (secrets.key, true) }}", f"{KEY} true"),
        ("{{ '%(k)s' % {'k': secrets.key} }}", KEY),
        ("{{ '%s' | format(secrets.key) }}", KEY),
        ("{{ secrets.key | b64encode }}", "elE3d0s5"),
        ("{{ secrets.key | b64encode | b64decode }}", KEY),
        ("{{ secrets.key | upper }}", "ZQ7WK9"),
        ("{{ secrets.key | trim }}", KEY),
        ("{{ secrets.key | urlencode }}", KEY),
        ("{{ secrets.key | reverse }}", "9Kw7Qz"),
        ("{{ secrets.key | first }}", "z"),
        ("{{ secrets.key | string }}", KEY),
        ("{{ secrets.key | default('x') }}", KEY),
        ("{{ '%s' | format([secrets.key] | map('trim')) }}", f'["{KEY}"]'),
        ("{{ ','.join([secrets.key] | map('trim')) }}", KEY),
        ("{{ 'a-b' | replace('-', secrets.key) }}", f"a{KEY}b"),
        ("{{ {'q': secrets.key, 'ok': true} | urlencode }}", f"q={KEY}&ok=true"),
        ("{{ [secrets.key, 1] | join('-') }}", f"{KEY}-1"),
        ("{{ ['a', 'b'] | join(secrets.key) }}", f"a{KEY}b"),
        ("{{ {'a': [secrets.key]} | tojson }}", f'{{"a":["{KEY}"]}}'),
        ("x{{ {'a': [secrets.key]} }}", f'x{{"a":["{KEY}"]}}'),
        ("{{ secrets.key.upper() }}", "ZQ7WK9"),
        ("{{ plain.replace('s', secrets.key) }}", f"{KEY}ee"),
        ("{{ ','.join([secrets.key, 'b']) }}", f"{KEY},b"),
        ("{{ ([secrets.key] | map('upper') | list)[0] }}", "ZQ7WK9"),
        ("{% for c in secrets.key %}{{ c }}{% endfor %}", KEY),
        ("{% set x %}a{{ secrets.key }}{% endset %}{{ x }}", f"a{KEY}"),
        ("{% macro m(x) %}a{{ x }}{% endmacro %}{{ m(secrets.key) }}", f"a{KEY}"),
        (
            "{% macro m() %}[{{ caller() }}]{% endmacro %}"
            "{% call m() %}{{ secrets.key }}{% endcall %}",
            f"[{KEY}]",
        ),
        ("{% filter upper %}a{{ secrets.key }}{% endfilter %}", "AZQ7WK9"),
        ("{{ '{{ x }}' | render(x=secrets.key) }}", KEY),
        ("{{ (secrets.json | fromjson).user }}", "u"),
    ],
)
def test_a_text_with_a_secret_in_it_is_a_secret(text: str, revealed: str) -> None:
    value = rendered(text)

    assert isinstance(value, Secret)
    assert value.reveal() == revealed


@pytest.mark.parametrize("text", ["{{ keys | urlencode }}", "{{ 'k=%(k)s' % keys }}"])
def test_a_store_of_secrets_can_be_used_whole(text: str) -> None:
    value = compile_text(text)({"keys": MappingProxyType({"k": Secret(KEY)})})

    assert isinstance(value, Secret)
    assert value.reveal() == f"k={KEY}"


def test_a_secret_inside_a_map_stays_where_it_is() -> None:
    value = rendered("{{ {'Authorization': 'Bearer ' ~ secrets.key, 'n': 1} }}")

    assert repr(value) == f"{{'Authorization': {MASK}, 'n': 1}}"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("{{ secrets.key == 'zQ7wK9' }}", True),
        ("{{ secrets.key != 'zQ7wK9' }}", False),
        ("{{ secrets.key is eq('zQ7wK9') }}", True),
        ("{{ secrets.key in ['a', 'zQ7wK9'] }}", True),
        ("{{ secrets.key is string }}", True),
        ("{{ secrets.key is defined }}", True),
        ("{{ secrets.key | length }}", 6),
        ("{{ true if secrets.key else false }}", True),
    ],
)
def test_a_secret_can_be_asked_about(text: str, answer: object) -> None:
    assert rendered(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'Q7' in secrets.key }}",
        "{{ 'Q7' not in secrets.key }}",
        "{{ 'Q7' is in(secrets.key) }}",
        "{{ secrets.key in 'a zQ7wK9 b' }}",
        "{{ secrets.key < 'z' }}",
        "{{ 'z' >= secrets.key }}",
        "{{ secrets.key is lt('z') }}",
        "{{ secrets.key is lower }}",
        "{{ secrets.key.startswith('z') }}",
        "{{ secrets.key.find('z') }}",
        "{{ secrets.key.count('z') }}",
        "{{ secrets.key.isdigit() }}",
        "{{ secrets.key[0] == 'z' }}",
        "{{ 'z' == secrets.key | first }}",
        "{{ secrets.key[0] == (secrets.other ~ 'z')[-1] }}",
        "{{ (secrets.key | upper) == 'ZQ7WK9' }}",
        "{{ secrets.key | replace('z', '') | length }}",
        "{{ secrets.key | wordcount }}",
        "{{ ['zQ7wK9', 'b'] | select('equalto', secrets.key) | list }}",
        "{{ ['zQ7wK9', 'b'] | reject('eq', secrets.key) | list }}",
        "{{ [{'k': 'b'}] | selectattr('k', 'eq', secrets.key) | list }}",
        "{{ ['zQ7wK9', 'b'].index(secrets.key) }}",
        "{{ ['zQ7wK9', 'b'].count(secrets.key) }}",
        "{{ {'zQ7wK9': 1}[secrets.key] }}",
        "{{ {'zQ7wK9': 1}.get(secrets.key) }}",
        "{{ [secrets.key, 'a'] | sort }}",
        "{{ [secrets.key, 'a'] | max }}",
        "{{ [secrets.key, 'a'] | unique | list }}",
        "{{ [{'k': secrets.key}] | groupby('k') }}",
    ],
)
def test_a_secret_cannot_be_guessed_piece_by_piece(text: str) -> None:
    with pytest.raises(RenderError, match="secret") as caught:
        rendered(text)

    assert KEY not in caught.value.reason


@pytest.mark.parametrize(
    "text",
    [
        "{{ secrets.key | int }}",
        "{{ secrets.key | float(1) }}",
        "{{ secrets.key | fromjson }}",
        "{{ secrets.key | b64decode }}",
        "{{ secrets.key | ident | int }}",
        "{{ secrets.key | map('int') | list }}",
        "{{ secrets.key.index('nope') }}",
        "{{ secrets.key.nope }}",
        "{{ plain[secrets.key] }}",
        "{{ secrets[secrets.key] }}",
        "{{ '%d' % secrets.key }}",
        "{{ '%d' | format(secrets.key) }}",
        "{{ (secrets.key ~ '%') % 1 }}",
        "{{ secrets.key + 1 }}",
        "{{ [1, secrets.key] | sort }}",
        "{{ {secrets.key: 1} | tojson }}",
        "{{ tpl | render(x=1) }}",
        "{{ ('{{ ' ~ secrets.key) | render }}",
        "{{ secrets.key() }}",
        "{{ secrets.key | round }}",
        "{{ range(secrets.key) }}",
    ],
)
def test_an_error_never_tells_a_secret(text: str) -> None:
    with pytest.raises(RenderError) as caught:
        rendered(text)

    error = caught.value
    assert KEY not in str(error)
    assert error.__context__ is None
    assert error.__cause__ is None
