"""What a playbook means, asked over the web: the same as the command line says.

All these only look: they share a server, whose processes read one playbook after another.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from noetl_mcp.cli.main import COMMANDS, commands
from tests.postgres import fresh_database
from tests.web.site import HEAD, HELLO, READING, Site, chain, serving

ROOT = Path(__file__).parent.parent.parent
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yaml"))
OLD = sorted((ROOT / "tests" / "dialects").glob("*.yaml"))[::4]
WRONG = sorted((ROOT / "tests" / "rules").glob("*[!t].yaml"))
PAGE = ROOT / "docs" / "reference" / "api.md"


@pytest.fixture(scope="module")
def reader(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with fresh_database(postgres) as dsn, serving(dsn, tmp_path_factory.mktemp("home")) as made:
        yield made


def said(*arguments: str, text: str = "", code: int = 0) -> bytes:
    """Return what a command prints about a text."""
    runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"})
    ran = runner.invoke(commands, [*arguments], input=text)
    assert ran.exit_code == code, ran.output
    return ran.stdout_bytes


def placeless(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return findings without the name of the file, which only the command knows."""
    return [{key: one[key] for key in one if key != "file"} for one in found]


@pytest.mark.parametrize("file", [*PLAYBOOKS, *OLD], ids=lambda file: str(file.stem))
def test_a_playbook_means_the_same_on_the_command_line(reader: Site, file: Path) -> None:
    text = file.read_text()
    body = {"content": text}

    plan = reader.post("/api/compile", body)
    explained = reader.client.post("/api/explain", json=body)
    migrated = reader.post("/api/migrate", body)
    drawn = {
        form: reader.client.post("/api/graph", json={**body, "format": form}).content
        for form in ("mermaid", "text", "svg", "png")
    }

    assert plan == json.loads(said("compile", "-", text=text))
    assert reader.post("/api/catalog", body, 201)["digest"] == plan["digest"]
    assert explained.content == said("explain", "-", text=text)
    assert migrated["content"].encode() == said("migrate", "-", text=text)
    for form, picture in drawn.items():
        assert picture == said("graph", "-", "--format", form, text=text), form


@pytest.mark.parametrize("file", [*PLAYBOOKS, *WRONG[::5]], ids=lambda file: str(file.stem))
def test_a_playbook_is_found_fault_with_as_on_the_command_line(reader: Site, file: Path) -> None:
    text = file.read_text()
    broken = text.replace("type: ", "typ: ").replace("next: [", "next: [no_")

    for one in (text, broken):
        found = reader.post("/api/validate", {"content": one})
        runner = CliRunner().invoke(commands, ["validate", "--json", "-"], input=one)

        assert placeless(found["diagnostics"]) == placeless(json.loads(runner.stdout))
        assert found["valid"] == (runner.exit_code == 0)


def test_what_the_v2_form_has_no_place_for_is_told(reader: Site) -> None:
    text = HELLO.replace("metadata:", "keychain: [{name: a, kind: b}]\nmetadata:")

    migrated = reader.post("/api/migrate", {"content": text})
    runner = CliRunner().invoke(commands, ["migrate", "-"], input=text)

    assert migrated["content"] == runner.stdout
    (lost,) = migrated["lost"]
    assert (lost["name"], lost["line"]) == ("keychain-not-read", 3)
    assert lost["message"] in runner.stderr


@pytest.mark.parametrize("how", ["compile", "explain", "graph", "migrate"])
def test_what_does_not_compile_is_told_with_its_places(reader: Site, how: str) -> None:
    text = HELLO.replace("next: [end]", "next: [ende]")

    error = reader.post(f"/api/{how}", {"content": text}, 422)["error"]

    assert error["code"] == "wrong-playbook"
    one = next(one for one in error["diagnostics"] if one["suggestion"] == "end")
    assert (one["code"][:2], one["line"], one["severity"]) == ("NP", 7, "error")
    assert one["message"]
    assert one["help"]
    assert one["column"] > 1


def test_a_warning_counts_when_it_is_asked_for(reader: Site) -> None:
    text = HELLO.replace("for: '0.01s'", "for: '{{ workload.n }}s'").replace(
        "next: [a]", "next: [a, a]"
    )

    lenient = reader.post("/api/validate", {"content": text})
    strict = reader.post("/api/validate", {"content": text, "strict": True})

    assert [one["severity"] for one in lenient["diagnostics"]] != []
    assert (lenient["valid"], strict["valid"]) == (True, False)
    assert lenient["diagnostics"] == strict["diagnostics"]


@pytest.mark.parametrize(
    ("form", "kind", "begins"),
    [
        ("text", "text/plain; charset=utf-8", b"t\n"),
        ("mermaid", "text/plain; charset=utf-8", b"flowchart TD\n"),
        ("svg", "image/svg+xml", b"<svg "),
        ("png", "image/png", b"\x89PNG"),
    ],
)
def test_a_picture_has_its_type(reader: Site, form: str, kind: str, begins: bytes) -> None:
    answer = reader.client.post("/api/graph", json={"content": HELLO, "format": form})

    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.content.startswith(begins)
    if kind.startswith("image/"):
        assert answer.headers["content-disposition"] == f'attachment; filename="graph.{form}"'
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_words_of_a_playbook_do_nothing_in_a_picture(reader: Site) -> None:
    evil = "</text></title><script>alert(1)</script><image href=x />&x;]]>"
    text = (
        HEAD.replace("name: t,", f"name: {json.dumps(evil)},")
        + "workload: {n: 1}\nworkflow:\n  - step: start\n    next:\n"
        + f"      - {{step: end, when: {json.dumps('{{ workload.n == ' + repr(evil) + ' }}')}}}\n"
        + "      - {step: other}\n  - {step: other, next: [end]}\n  - {step: end}\n"
    )

    answer = reader.client.post("/api/graph", json={"content": text, "format": "svg"})

    assert answer.status_code == 200, answer.text
    assert "&lt;script" in answer.text
    tags = {one.tag.rpartition("}")[2] for one in ElementTree.fromstring(answer.text).iter()}
    assert not tags & {"script", "image", "a", "use", "foreignObject"}


def test_a_text_can_be_drawn_narrow_and_in_ascii(reader: Site) -> None:
    body = {"content": chain(60), "format": "text", "width": 40, "ascii": True}

    text = reader.client.post("/api/graph", json=body).text

    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 40


@pytest.mark.parametrize("how", READING)
@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 400, "'path' is needed"),
        ({"content": 7}, 400, "'content' must be a text"),
        ({"content": HELLO, "path": "a"}, 400, "leave 'path' out"),
        ({"path": "no/such"}, 404, "'no/such' is not in the catalog"),
        ({"path": "/etc/passwd"}, 404, "is not in the catalog"),
        ({"path": "a", "version": 0}, 400, "'version' must be"),
        ({"content": HELLO, "file": "x.yaml"}, 400, "there is no field 'file'"),
        ({"content": HELLO, "seconds": 601}, 400, "'seconds' must be"),
        ({"content": "a\0b"}, 400, "NUL"),
        ([HELLO], 400, "must be a JSON object"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    reader: Site, how: str, body: Any, status: int, says: str
) -> None:
    answer = reader.client.post(f"/api/{how}", json=body)

    assert answer.status_code == status, answer.text
    assert says in answer.text


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"format": "pdf"}, "'format' says what to draw"),
        ({"format": ["svg"]}, "'format' says what to draw"),
        ({"width": 0}, "'width' must be a whole number of 20 to 1000"),
        ({"width": 1e9}, "'width' must be a whole number"),
        ({"ascii": "perhaps"}, "'ascii' must be true or false"),
        ({"strict": True}, "there is no field 'strict'"),
    ],
)
def test_a_picture_that_cannot_be_meant_is_refused(
    reader: Site, more: dict[str, Any], says: str
) -> None:
    answer = reader.client.post("/api/graph", json={"content": HELLO, **more})

    assert answer.status_code == 400
    assert says in answer.text


def test_the_rules_are_those_of_the_command(reader: Site) -> None:
    listed = reader.get("/api/rules")
    one = reader.get("/api/rules/unknown-tool")
    missing = reader.client.get("/api/rules/unknown-tol")

    assert listed == json.loads(said("rules", "--json"))
    assert one["page"].encode() == said("explain", "unknown-tool")
    assert {key: one[key] for key in one if key != "page"} in listed
    assert reader.get("/api/rules/np201") == one
    assert missing.status_code == 404
    assert "did you mean 'unknown-tool'?" in missing.text
    assert reader.client.get("/api/rules/..%2f..%2fREADME").status_code == 404


@pytest.mark.parametrize("name", ["playbook", "plan", "diagnostics"])
def test_a_schema_is_that_of_the_command(reader: Site, name: str) -> None:
    assert reader.client.get(f"/api/schemas/{name}").content == said("schema", name)


def test_a_schema_that_is_not_there_is_told_with_those_that_are(reader: Site) -> None:
    answer = reader.client.get("/api/schemas/catalog")

    assert answer.status_code == 404
    assert answer.json()["error"]["allowed"] == ["playbook", "plan", "diagnostics"]


@pytest.mark.parametrize("how", READING)
def test_a_text_that_would_grow_is_refused(reader: Site, how: str) -> None:
    grows = "\n".join(
        f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10 if n else ['1'] * 10)}]" for n in range(12)
    )
    text = HELLO.replace("workload: {n: 1}", f"workload:\n  n: 1\n{grows}")

    answer = reader.client.post(f"/api/{how}", json={"content": text})

    found = answer.json()
    assert answer.status_code == (200 if how == "validate" else 422)
    findings = found["diagnostics"] if how == "validate" else found["error"]["diagnostics"]
    assert findings[0]["name"] == "too-many-aliases"


def test_the_page_shows_what_is_answered(reader: Site) -> None:
    asked, told = re.findall(r"validate .* -d '(.*)'\n```\n\n```json\n(.*)\n", PAGE.read_text())[0]

    assert reader.post("/api/validate", json.loads(asked)) == json.loads(told)


def test_every_command_has_its_place_in_the_api_or_says_why_not() -> None:
    page = PAGE.read_text()
    table = page[page.index("| command | here |") :].partition("\n\n")[0]

    told = [
        name for line in table.splitlines() for name in re.findall("`(.+?)`", line.split("|")[1])
    ]

    assert sorted(told) == sorted(COMMANDS)
