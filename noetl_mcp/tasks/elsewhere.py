"""Task types that other servers know and this one does not, and what to use instead."""

from collections.abc import Mapping
from types import MappingProxyType

ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "agent": "write a turn in 'mcp:' with the model and the tools it may call",
        "artifact": "use 'type: file' to read or write it, or let the step's result carry it",
        "bigquery": "use 'type: http' with its REST interface, or 'type: python' with its client",
        "container": "use 'type: shell' with 'docker run', on a worker that allows it",
        "ducklake": "use 'type: duckdb' with 'extensions: [ducklake]' and 'attach'",
        "gateway": "use 'type: http' for a request, or a turn in 'mcp:' for a model",
        "gcs": "use 'type: http' with its JSON interface, or 'type: duckdb' with httpfs",
        "keychain": "name a stored credential with 'auth', or write '{{ secrets.NAME }}'",
        "kv": "use 'type: postgres' with a table, or 'save' to one",
        "loop": "use 'type: iterator' with 'collection', 'element' and 'task'",
        "nats": "use 'type: http' with a bridge, or 'type: callback' to wait for a message",
        "playbooks": "use an iterator whose 'task' is 'type: playbook'",
        "result_fetch": "write '{{ STEP }}'; results are fetched when a template needs them",
        "rhai": "use 'type: python', or a template for a single expression",
        "s3": "use 'type: http' with a signed address, or 'type: duckdb' with httpfs",
        "save": "write 'save: {storage: …}' on the step whose result it is",
        "script": "use 'type: python' with 'script', or 'type: shell' with 'command'",
        "secrets": "write '{{ secrets.NAME }}' where the value is needed",
        "sink": "write 'save: {storage: …}' on the step whose result it is",
        "snowflake": "use 'type: http' with its SQL interface, or 'type: python' with its client",
        "subscription": "use 'type: wait' with 'wait: {event: NAME}', or 'type: callback'",
        "task_sequence": "use 'type: sequence' with 'tasks', or several steps",
        "wasm": "use 'type: python', or 'type: shell' with a runtime",
    }
)
"""What to write instead, by the name of the type; fits after 'there is no such type here: '."""


def instead_of(name: str) -> str | None:
    """Return what to use in place of a task type from elsewhere."""
    return ELSEWHERE.get(name.strip().lower().replace("-", "_"))


__all__ = [
    "ELSEWHERE",
    "instead_of",
]
