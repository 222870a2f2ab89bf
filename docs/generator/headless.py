"""The page of the methods that the headless Revit server answers, from the methods themselves."""

from collections.abc import Iterable, Mapping
from typing import Any

from generator.markdown import code, codes, page, table, value
from generator.parts import filled
from noetl_mcp.bim.revit.headless.about import METHODS as ABOUT
from noetl_mcp.bim.revit.headless.categories import CATEGORIES, OTHERS
from noetl_mcp.bim.revit.headless.method import Method
from noetl_mcp.bim.revit.headless.methods import READS
from noetl_mcp.bim.revit.headless.server import CHOICES, GUARDS, PASSED_ON
from noetl_mcp.bim.revit.methods import METHODS as REGISTRY

_HEAD = """
What `noetl-mcp revit serve MODEL.ifc` answers; how it is used stands in
[Ask a building model](../how-to/headless-revit.md). Lengths are in millimetres, areas in square
metres, angles in degrees, whatever the file counts in. A dotted name goes by its last part.

`elementId` is the number of the entity in the file, which stays when the file is saved and not when
a model is exported anew; `uniqueId` is its GlobalId, which stays with both. A view in space shows
everything; besides, each level has a plan. Positions are those of the file's world, with y to the
north; the elevation of a level is what the storey says, above the zero of its building. Where the
file places the building higher, `z` of what stands on a level is that much more than its elevation.

Every answer has `ok`, `code` (`OK`), `msg`, `warnings`, `timings` and `context`, which names the
document and bears a `contextToken` for its state. With `ok: false`, `code` and `errorCode` say why:

| code | |
|---|---|
| `INVALID_PARAMS` | a parameter is wrong, or not known: a misspelt filter would choose everything |
| `UNKNOWN_COMMAND` | nobody has such a method |
| `UNSUPPORTED_ON_HEADLESS` | a real Revit has it, this server has not |
| `NOT_FOUND`, `NO_LOCATION`, `AMBIGUOUS_NAME` | the element or view, its line, or which level |
| `PRECONDITION_FAILED` | `expectedContextToken` is not that of this model |
| `EXPECT_PROJECT_GUID_MISMATCH`, `EXPECT_PROJECT_TITLE_MISMATCH`, `NO_DOC` | another document is \
meant |
| `MODEL_DEFECT` | the file is broken where it had to be read |
| `TOO_MUCH_TO_READ`, `RESULT_TOO_LARGE` | more than one call may: ask for fewer elements, or a \
page; what was read is kept |

Elements that cannot be read are left out of lists and told in `issues.itemErrors`.
"""
_SHARED = """
## What any call may say

These refuse a call that is meant for another document, or for another state of it: {guards}.

These choose a document; as there is but one, they refuse what chooses another: {choices}.

These are taken and do nothing, for nothing is written: {passed}.
"""


def headless_page() -> str:
    """Return the page of the headless Revit server."""
    methods = [*sorted(READS.values()), *sorted(ABOUT.values())]
    parts = [_method(one) for one in methods]
    others = sorted(
        name for name in REGISTRY.effects if REGISTRY.reads(name) and name not in _OFFERED
    )
    return page(
        "The headless Revit server",
        _HEAD,
        _shared(),
        filled("headless-rows.md", {}),
        *parts,
        "## Not answered",
        f"What writes, and of what reads: {codes(others)}.",
        "## Categories",
        _categories(),
    )


def _shared() -> str:
    found = {"guards": GUARDS, "choices": CHOICES, "passed": PASSED_ON}
    return _SHARED.format(**{name: codes(keys) for name, keys in found.items()}).strip()


_OFFERED = {*READS, *ABOUT}


def _method(one: Method) -> str:
    schema = one.asks.model_json_schema()
    rows = list(_rows(schema, schema, ""))
    told = table(("parameter", "type", ""), rows) if rows else "It takes no parameters."
    return f"## {one.name}\n\n{one.says}\n\n{told}"


def _rows(
    schema: Mapping[str, Any], whole: Mapping[str, Any], before: str
) -> Iterable[tuple[str, str, str]]:
    """Yield the parameters of a method, with those inside them."""
    needed = schema.get("required", ())
    for name, said in schema.get("properties", {}).items():
        inner = _inner(said, whole)
        is_needed = "; needed" if name in needed else ""
        text = said.get("description") or inner.get("description", "")
        yield code(f"{before}{name}"), _type(said, whole) + is_needed, text
        many = "[]" if said.get("type") == "array" else ""
        yield from _rows(inner, whole, f"{before}{name}{many}.")


def _inner(said: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object that a parameter is, or is a list of; empty when it is no such thing."""
    for one in (said, *said.get("anyOf", ()), said.get("items", {})):
        if "$ref" in one:
            found: Mapping[str, Any] = whole["$defs"][one["$ref"].rpartition("/")[2]]
            return found
    return {}


def _type(said: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """Return the type of a parameter in a word or two."""
    kinds = [one for one in said.get("anyOf", (said,)) if one.get("type") != "null"]
    one = kinds[0]
    if "enum" in one:
        return " or ".join(map(code, one["enum"])) + _default(said)
    if "const" in one:
        return code(one["const"])
    if one.get("type") == "array":
        return f"list of {_type(one['items'], whole)}s"
    if "$ref" in one:
        return "object"
    return _KINDS[one.get("type", "any")] + _default(said)


def _default(said: Mapping[str, Any]) -> str:
    found = said.get("default")
    return "" if found is None or found is False else f"; {value(found)}"


_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "any": "any value",
}


def _categories() -> str:
    rows: dict[tuple[str, str], list[str]] = {}
    for kind, one in CATEGORIES.items():
        rows.setdefault((one.key, one.name), []).append(kind)
    named = [(code(key), name, codes(kinds)) for (key, name), kinds in sorted(rows.items())]
    others = (code(OTHERS.key), OTHERS.name, "every other class")
    return table(("category", "name", "IFC classes"), [*named, others])
