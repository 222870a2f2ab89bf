"""Write a picture as Mermaid `flowchart TD` text. It refuses to let a name become Mermaid syntax.

Ids come from names, so that a change to one step changes few lines. Every sign that means
something to Mermaid or HTML is written as its entity. A viewer with default limits shows up to 500
arrows and 50,000 characters.
"""

import hashlib
import re
from collections.abc import Mapping

from noetl_mcp.compiler.picture.conditions import condition
from noetl_mcp.compiler.picture.drawing import Arrow, Box, Picture
from noetl_mcp.compiler.picture.palette import ACCENT, HIDDEN_CARD, LINES, WRITES, family
from noetl_mcp.lettering.fitted import printable, shortened

_LONGEST = 120.0
_SAFE = re.compile(r"[\w \-.,:/()=!?]")
_LIST = re.compile(r"^(\d*)([-.])")
_LINKS = {"next": "-->", "error": "-->", "need": "-.->"}


def mermaid_of(picture: Picture) -> str:
    """Write the flowchart."""
    boxes = list({box.name: box for box in reversed(picture.boxes)}.values())[::-1]
    ids = _ids(boxes)
    arrows = [
        arrow
        for arrow in dict.fromkeys(picture.arrows)
        if arrow.source in ids and arrow.target in ids
    ]
    lines = ["flowchart TD"]
    if picture.title:
        lines.append(f"    accTitle: {_plain(picture.title)}")
    lines += [f"    {_node(box, ids)}" for box in boxes]
    lines += [f"    {_link(arrow, ids)}" for arrow in arrows]
    return "\n".join([*lines, *_classes(boxes, ids), *_styles(arrows)]) + "\n"


def _ids(boxes: list[Box]) -> Mapping[str, str]:
    """Make an id of every name: readable where that is safe, and never the same for two."""
    ids: dict[str, str] = {}
    for box in boxes:
        stem = re.sub(r"[^A-Za-z0-9]+", "_", box.name).strip("_")[:40]
        plain = stem != "" and stem == box.name and not stem.startswith("x_")
        mark = hashlib.sha256(box.name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        ids[box.name] = f"s_{stem}" if plain else f"s_x_{stem}_{mark}"
    return ids


def _escaped(text: str) -> str:
    """Write a text so that neither Mermaid nor HTML sees more than text in it."""
    short = shortened(printable(text), _LONGEST, lambda one: float(len(one)))
    escaped = "".join(sign if _SAFE.match(sign) else f"#{ord(sign)};" for sign in short)
    return _LIST.sub(lambda found: f"{found[1]}#{ord(found[2])};", escaped)


def _plain(text: str) -> str:
    return re.sub(r"[^\w \-.,]", " ", printable(text)).strip() or "workflow"


def _node(box: Box, ids: Mapping[str, str]) -> str:
    small = [_escaped(part) for part in (box.kind, "writes" * box.writes, box.note) if part]
    text = _escaped(box.name) or "#160;"
    label = text + (f"<br/><small>{' · '.join(small)}</small>" if small else "")
    return (
        f'{ids[box.name]}{{{{"{label}"}}}}'
        if box.kind == "router"
        else f'{ids[box.name]}["{label}"]'
    )


def _link(arrow: Arrow, ids: Mapping[str, str]) -> str:
    text = _escaped(condition(arrow.label)) or ("on error" if arrow.kind == "error" else "")
    label = f'|"{text}"|' if text else ""
    return f"{ids[arrow.source]} {_LINKS[arrow.kind]}{label} {ids[arrow.target]}"


def _classes(boxes: list[Box], ids: Mapping[str, str]) -> list[str]:
    """Colour steps by the family of their type, and mark the hidden and the writing ones."""
    looks = {f"k_{name}": f"stroke:{colour}" for name, colour in ACCENT.items()}
    looks["hidden_step"] = f"stroke-dasharray:5 3,fill:{HIDDEN_CARD},color:#0f172a"
    looks["writing"] = f"stroke:{WRITES},stroke-width:3px"
    members: dict[str, list[str]] = {name: [] for name in looks}
    for box in boxes:
        members[f"k_{family(box.kind)}"].append(ids[box.name])
        if box.hidden:
            members["hidden_step"].append(ids[box.name])
        if box.writes:
            members["writing"].append(ids[box.name])
    lines: list[str] = []
    for name, ones in members.items():
        if ones:
            lines.append(f"    classDef {name} {looks[name]}")
            lines.append(f"    class {','.join(ones)} {name}")
    return lines


def _styles(arrows: list[Arrow]) -> list[str]:
    errors = [str(at) for at, arrow in enumerate(arrows) if arrow.kind == "error"]
    if not errors:
        return []
    return [f"    linkStyle {','.join(errors)} stroke:{LINES['error']},stroke-dasharray:6 4"]
