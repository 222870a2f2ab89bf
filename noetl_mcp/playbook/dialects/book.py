"""Read the top of a playbook, from any dialect, into the form of the model."""

from noetl_mcp.diagnostics import closest
from noetl_mcp.playbook.dialects.actions import read_action
from noetl_mcp.playbook.dialects.mcp import read_mcp
from noetl_mcp.playbook.dialects.reading import Entries, Reading, shown
from noetl_mcp.playbook.dialects.steps import read_steps
from noetl_mcp.playbook.known_keys import keys_of
from noetl_mcp.playbook.model import Playbook
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect, reading, shape

API_VERSIONS = ("noetl.io/v1", "noetl.io/v2", "noetl.io/v10")
OTHER_KEYS = frozenset(
    (
        "path",
        "name",
        "steps",
        "executor",
        "keychain",
        "vars",
        "labels",
        "spec",
        "credentials",
        "environment",
    )
)
OTHER_KINDS = frozenset(("Agent", "Mcp", "Memory", "Credential", "Subscription"))


def read_book(root: Node, desk: Reading) -> Node | None:
    """Read a whole text; None when it cannot be a playbook at all."""
    if root.mapping is None:
        desk.say(reading.NOT_A_MAP, root, kind=root.kind)
        return None
    entries = dict(root.mapping)
    if not _is_playbook(root, entries, desk):
        return None
    _unknown_keys(entries, desk)
    _header(root, entries, desk)
    _executor(entries, desk)
    desk.rename(entries, "workflow", "steps")
    if "workbook" in entries:
        entries["workbook"] = _workbook(entries["workbook"], desk)
    for key in ("workflow", "finally"):
        if key in entries:
            entries[key] = read_steps(entries[key], desk, f"'{key}'")
    if "mcp" in entries:
        entries["mcp"] = read_mcp(entries["mcp"], desk)
    for key in [key for key, child in entries.items() if child.value is None]:
        entries.pop(key)
    return root.become(entries)


def _is_playbook(root: Node, entries: Entries, desk: Reading) -> bool:
    kind = entries.get("kind")
    if kind is None:
        desk.say(shape.MISSING_KEY, _head(root), where="the playbook", key="kind")
        return bool({"workflow", "mcp", "steps"} & set(entries))
    if kind.value == "Playbook":
        return True
    near = closest(str(kind.value), ("Playbook",))
    desk.say(shape.NOT_A_PLAYBOOK_KIND, kind, suggestion=near, kind=shown(kind).strip("'"))
    entries.pop("kind")
    return kind.text not in OTHER_KINDS and "workflow" in entries


def _unknown_keys(entries: Entries, desk: Reading) -> None:
    """Report keys that no dialect has; go on as if the nearest known one stood there."""
    known = keys_of(Playbook)
    for key in [key for key in entries if key not in known and key not in OTHER_KEYS]:
        node = entries.pop(key)
        near = desk.report.near(key, known)
        desk.say(
            shape.UNKNOWN_KEY,
            node,
            at_key=True,
            suggestion=near,
            where="the playbook",
            key=key,
            known=", ".join(known),
        )
        if near is not None:
            entries.setdefault(near, node)


def _head(root: Node) -> Node:
    """The first key of a text: where something missing is reported."""
    first = next(iter((root.mapping or {}).values()), None)
    return first.key if first is not None and first.key is not None else root


def _header(root: Node, entries: Entries, desk: Reading) -> None:
    version = entries.get("apiVersion")
    if version is not None and version.value not in API_VERSIONS:
        near = closest(str(version.value), API_VERSIONS)
        desk.say(
            shape.UNKNOWN_API_VERSION, version, suggestion=near, version=shown(version).strip("'")
        )
        entries.pop("apiVersion")
    given = entries.get("metadata")
    if given is not None and given.mapping is None:
        desk.wrong_kind(
            given, "'metadata'", "a map of keys", "write 'metadata: {name: …, path: …}'"
        )
    metadata = dict(given.mapping or {}) if given is not None else {}
    is_told = given is not None and given.mapping is None
    if given is None and not {"path", "name"} & set(entries):
        desk.say(shape.MISSING_KEY, _head(root), where="the playbook", key="metadata")
        is_told = True
    for key in ("path", "name"):
        old = entries.pop(key, None)
        if old is not None:
            desk.say(dialect.OLD_HEADER, old, at_key=True, key=key)
            metadata.setdefault(key, old)
    place = given if given is not None else _head(root)
    for key in ("path", "name"):
        if key not in metadata or metadata[key].value in (None, ""):
            at = given.key if given is not None and given.key is not None else place
            if not is_told and not _is_misspelt(key, metadata, desk):
                desk.say(shape.MISSING_KEY, at, where="'metadata'", key=key)
            metadata[key] = place.become("?")
        elif isinstance(metadata[key].value, (int, float)):
            metadata[key] = metadata[key].become(str(metadata[key].value))
    entries["metadata"] = place.become(metadata)


def _is_misspelt(key: str, metadata: Entries, desk: Reading) -> bool:
    """Whether a key of the metadata is nearly `path` or `name`; it is told as such."""
    for other in list(metadata):
        if other in ("path", "name") or desk.report.near(other, ("path", "name")) != key:
            continue
        node = metadata.pop(other)
        desk.say(
            shape.UNKNOWN_KEY,
            node,
            at_key=True,
            suggestion=key,
            where="'metadata'",
            key=other,
            known="path, name, version, description, tags, expose",
        )
        return True
    return False


def _executor(entries: Entries, desk: Reading) -> None:
    """Read the newest form's `executor` (the entry step) and refuse what it has no place for."""
    executor = entries.pop("executor", None)
    if executor is not None:
        spec = executor.get("spec")
        entry = spec.get("entry_step") if spec is not None else None
        is_entered = entry is not None and entry.value != "start"
        if entry is not None and is_entered:
            _enter_at(entry, entries)
        is_all = set(executor.mapping or {}) == {"spec"} and set(
            (spec.mapping or {}) if spec is not None else {}
        ) == {"entry_step"}
        if not (is_entered and is_all):
            key = "executor, but for its entry_step" if is_entered else "executor"
            desk.say(dialect.DROPPED_KEY, executor, at_key=True, key=key)
    keychain = entries.pop("keychain", None)
    if keychain is not None:
        desk.say(dialect.KEYCHAIN, keychain, at_key=True)
    variables = entries.pop("vars", None)
    if variables is not None:
        desk.say(dialect.VARS, variables, at_key=True)
    _root_spec(entries)
    desk.drop(
        entries, *[k for k in ("labels", "spec", "credentials", "environment") if k in entries]
    )


def _root_spec(entries: Entries) -> None:
    """A `spec` at the top was readable in templates: it is one more variable."""
    spec, workload = entries.get("spec"), entries.get("workload")
    if spec is None or spec.mapping is None or (workload is not None and workload.mapping is None):
        return
    known = (workload.mapping or {}) if workload is not None else {}
    if "spec" not in known:
        entries.pop("spec")
        entries["workload"] = (workload or spec).become({**known, "spec": spec})


def _enter_at(entry: Node, entries: Entries) -> None:
    steps = entries.get("workflow") or entries.get("steps")
    names = [item.get("step") for item in (steps.items or [])] if steps is not None else []
    if steps is None or steps.items is None or any(n and n.value == "start" for n in names):
        return
    gate = entry.become({"step": entry.become("start"), "next": entry.become([entry])})
    steps.items.insert(0, gate)


def _workbook(node: Node, desk: Reading) -> Node:
    """Read the named actions; one without a name is reported by the model."""
    items = desk.listed(node, "'workbook'", "name")
    return node.become([read_action(item, desk, "a workbook action") for item in items])
