"""How results look to templates, kind by kind."""

import pytest

from noetl_mcp.broker.results import Known, Standing, output_of, this_of, view, view_of
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import RenderError, compile_text

HTTP: Json = {
    "status_code": 200,
    "headers": {"etag": "x"},
    "url": "http://a/",
    "elapsed": 0.1,
    "data": {"id": 7, "status": "ready", "url": "http://b/"},
}
ROWS: Json = {"rows": [{"n": 1}], "row_count": 1, "columns": ["n"], "command_0": {"row_count": 1}}
TURN: Json = {"content": "six", "output": {"n": 6}, "usage": {"input_tokens": 3}, "rounds": 1}
REFUSED: Json = {
    "code": "http-status",
    "message": "404",
    "retriable": False,
    "details": {"status_code": 404},
}


def seen(text: str, kind: str, result: Json, **more: object) -> object:
    return compile_text(text)({"s": view(kind, result, **more)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "result", "text", "value"),
    [
        ("python", {"count": 2}, "{{ s.count }}", 2),
        ("python", {"count": 2}, "{{ s.data.count + s.result.count }}", 4),
        ("python", [5, 6], "{{ s[0] + s.data[1] }}", 11),
        ("python", 4, "{{ s * 2 }}", 8),
        ("python", "007", "{{ s }}", "007"),
        ("python", None, "{{ s.status }}", "completed"),
        ("python", False, "{{ 1 if s else 2 }}", 2),
        ("python", {}, "{{ s.meta }}", {}),
        ("python", {}, "{{ s.error }}", None),
        ("python", {"data": {"x": 1}}, "{{ s.result.data.x }}", 1),
        ("python", {"error": "mine"}, "{{ s.error }}", "mine"),
        ("http", HTTP, "{{ s.data.id }}", 7),
        ("http", HTTP, "{{ s.id }}", 7),
        ("http", HTTP, "{{ s.result.id }}", 7),
        ("http", HTTP, "{{ s.status_code }}", 200),
        ("http", HTTP, "{{ s.headers.etag ~ s.url ~ s.elapsed }}", "xhttp://a/0.1"),
        ("http", HTTP, "{{ s.status }}", "ready"),
        ("http", HTTP, "{{ s }}", HTTP),
        ("http", {"status_code": 204, "data": None}, "{{ s.status }}", "completed"),
        ("http", {"status_code": 200, "data": [1]}, "{{ s.data[0] }}", 1),
        ("postgres", ROWS, "{{ s.rows[0].n + s.row_count + s.command_0.row_count }}", 3),
        ("postgres", ROWS, "{{ s.data.columns }}", ["n"]),
        ("duckdb", ROWS, "{{ s.rows | length }}", 1),
        ("playbook", {"n": 42}, "{{ s.n }}", 42),
        ("set", {"a": 1}, "{{ s.a }}", 1),
        ("turn", TURN, "{{ s.content ~ s.output.n ~ s.usage.input_tokens }}", "six63"),
        ("iterator", {"results": None}, "{{ s.results }}", None),
    ],
)
def test_a_result_is_read_as_the_docs_say(
    kind: str, result: Json, text: str, value: object
) -> None:
    given = seen(text, kind, result)

    assert given == value
    assert type(given) is type(value)


def test_an_iterators_result_means_its_results() -> None:
    result: Json = {
        "items": 3,
        "results": [{"x": 1}, {"error": {"code": "boom", "message": "no"}}, {"x": 3}],
        "count": 2,
        "errors": [{"index": 1, "code": "boom", "message": "no"}],
    }

    assert seen("{{ s }}", "iterator", result) is result
    assert seen("{{ s[2].x + s.items + s.count }}", "iterator", result) == 8
    assert seen("{{ s | length }}", "iterator", result) == 3
    assert seen("{{ s[1].error.code }}", "iterator", result) == "boom"
    assert seen("{% for one in s %}{{ one.x | default('-') }}{% endfor %}", "iterator", result) == (
        "1-3"
    )


def test_a_sequence_is_its_last_task_and_has_each_task_by_name() -> None:
    asked = []

    def tasks() -> dict[str, Json]:
        asked.append(1)
        return {"large": [1, 2], "sums": {"n": 3}}

    shown = {"s": view("sequence", {"n": 3}, tasks=tasks)}

    assert compile_text("{{ s.n }}")(shown) == 3
    assert not asked
    assert compile_text("{{ s.results.large }}")(shown) == [1, 2]
    own = {"s": view("sequence", {"results": "mine"}, tasks=tasks)}
    assert compile_text("{{ s.results }}")(own) == "mine"


def test_a_failure_is_read_by_its_error_and_never_as_a_silent_null() -> None:
    failed = {"s": view("http", None, status="failed", error=REFUSED, meta={"took": 3})}

    assert compile_text("{{ s.error.code ~ s.error.message }}")(failed) == "http-status404"
    assert compile_text("{{ s.status == 'failed' and s.meta.took == 3 }}")(failed) is True
    assert compile_text("{{ s }}")(failed) == {"error": REFUSED}
    assert compile_text("{{ s.data | default('none') }}")(failed) == "none"
    with pytest.raises(RenderError, match="no 'id' in the map"):
        compile_text("{{ s.id }}")(failed)


@pytest.mark.parametrize("result", [{"status": "mine", "error": "mine", "n": 1}, [1], "text"])
def test_a_failure_that_gave_something_keeps_it(result: Json) -> None:
    failed = {"s": view_of("python", Known("failed", result, REFUSED))}

    assert compile_text("{{ s.status }}")(failed) == "failed"
    assert compile_text("{{ s.error.message }}")(failed) == "404"
    if isinstance(result, dict):
        assert compile_text("{{ s.n + s.data.n }}")(failed) == 2
    else:
        assert compile_text("{{ s.data }}")(failed) == result


def test_what_a_result_is_made_of_is_not_copied() -> None:
    result: dict[str, Json] = {"rows": list(range(100_000))}

    shown = {"s": view("python", result)}

    assert compile_text("{{ s }}")(shown) is result
    assert compile_text("{{ s.rows }}")(shown) is result["rows"]


def test_output_says_how_it_ended_in_the_words_of_every_dialect() -> None:
    failed = {"output": output_of("http", Known("failed", None, REFUSED))}
    done = {"output": output_of("python", Known("done", {"status": "mine", "n": 1}))}

    retry = compile_text("{{ output.status == 'error' and output.http.status in [404, 429] }}")
    assert retry(failed) is True
    assert retry(done) is False
    assert compile_text("{{ output.error.kind ~ output.error.retryable }}")(failed) == (
        "http-statusfalse"
    )
    assert compile_text("{{ output.status in ['ok', 'done'] and output.n == 1 }}")(done) is True
    assert compile_text("{{ output.data.status ~ output.data.n }}")(done) == "mine1"
    assert compile_text("{{ output.status }}")(failed) == "failed"
    assert type(compile_text("{{ output.status }}")(failed)) is str


def test_a_standing_is_equal_to_its_words_and_to_nothing_else() -> None:
    assert Standing("completed") == "success"
    assert Standing("completed") != "failed"
    assert Standing("failed") == Standing("failed")
    assert Standing("failed") != 1
    assert hash(Standing("failed")) == hash(Standing("failed"))


def test_this_shows_the_answer_below_its_body_too() -> None:
    shown = {"this": this_of("http", Known("done", HTTP))}

    assert compile_text("{{ this.data.elapsed }}")(shown) == 0.1
    assert compile_text("{{ this.data.url }}")(shown) == "http://b/"
    assert compile_text("{{ this.data }}")(shown) == {
        "id": 7,
        "status": "ready",
        "url": "http://b/",
    }
    plain = {"this": this_of("python", Known("done", {"n": 1}))}
    assert compile_text("{{ this.data.n + this.n }}")(plain) == 2
