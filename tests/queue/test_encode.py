import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_mcp.queue.binary import INT4, INT8, TEXT, array, read_array, read_texts, sparse, texts
from noetl_mcp.queue.encode import NotJson, decode, digest, encode

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner
        )
    ),
)


@given(JSON)
def test_what_was_encoded_comes_back(value: object) -> None:
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": [1, float("nan")]}, "$.a[1] is not a finite number"),
        ([float("inf")], "$[0] is not a finite number"),
        ({"a": "x\0y"}, "$.a holds a NUL"),
        ({"a\0": 1}, "$ holds a NUL"),
        ({"a": "\ud800"}, "cannot be written"),
        ({"a": 2**64}, "$.a is too large"),
        ({"a": {1, 2}}, "$.a is of type set"),
        ({1: 2}, "$ has a key that is no text"),
    ],
)
def test_what_nobody_could_read_back_is_refused_with_its_place(value: object, told: str) -> None:
    with pytest.raises(NotJson) as refused:
        encode(value)

    assert told in str(refused.value)


def test_endless_depth_is_refused() -> None:
    value: list[object] = []
    for _ in range(2_000):
        value = [value]

    with pytest.raises(NotJson):
        encode(value)


def test_the_same_text_has_the_same_digest() -> None:
    assert digest("ä") == digest("ä") != digest("a")


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_numbers_go_there_and_back(values: list[int]) -> None:
    assert read_array(INT8, array(INT8, values)) == values


@given(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)))
def test_numbers_with_gaps_go_there_and_back(values: list[int | None]) -> None:
    raw = sparse(INT4, values)

    if all(value is None for value in values):
        assert raw is None
    else:
        assert read_array(INT4, raw) == values


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_go_there_and_back(values: list[str | None]) -> None:
    raw = texts(values)

    if raw is None:
        assert all(value is None for value in values)
    else:
        assert read_texts(raw) == values
    assert TEXT
