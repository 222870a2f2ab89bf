"""Playbooks by chance without the task type of the tests, for the workers that users have.

What a test's `echo` does is asked of the judge instead: wait, and fail the first so many times.
"""

from typing import Any

Tree = dict[str, Any]
PLACE = "{{ execution_id }}"


def plainly(tree: Any, url: str, *, name: str = "", item: str = "") -> Any:
    """Return a playbook's steps with every `echo` said by means of built-in types."""
    if isinstance(tree, list):
        return [plainly(one, url, name=name, item=item) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if "finally" in tree:
        return {**tree, "finally": plainly(tree["finally"], url)}
    own = str(tree.get("step", name))
    if tree.get("type") == "echo":
        return _asked(tree, url, own, item)
    if tree.get("type") == "iterator":
        inner = plainly(tree["task"], url, name=own, item="{{ x }}")
        return {**tree, "task": inner}
    return tree


def _asked(tree: Tree, url: str, name: str, item: str) -> Tree:
    said = dict(tree.get("data", {}))
    wait, fails = said.get("sleep", 0), said.get("fails", 0)
    if not (wait or fails):
        return {**tree, "type": "noop"}
    query = f"refuse={fails}&wait={round(wait * 1000)}&n={said.get('v', 0)}"
    rest = {key: value for key, value in tree.items() if key != "data"}
    return {**rest, "type": "http", "url": f"{url}/r/{PLACE}/{name}-read/{item}?{query}"}


__all__ = ["plainly"]
