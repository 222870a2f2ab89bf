"""Run a question to the whole product with other words in `words.py`: `python with_words.py`.

It reads from standard input, as JSON, pairs of old and new pieces of the module's text, loads the
module with them in place before anything else is loaded, and answers what everybody knows now.
"""

import importlib
import importlib.abc
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

NAME = "noetl_mcp.bim.floorplan.words"
ROOT = Path(__file__).parents[3]


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads `words.py` with other pieces in it."""

    def __init__(self, pieces: list[list[str]]) -> None:
        self.pieces = pieces

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Answer for the one module."""
        return importlib.util.spec_from_loader(name, self) if name == NAME else None

    def exec_module(self, module: Any) -> None:
        """Run the changed text as the module."""
        source = (ROOT / "noetl_mcp/bim/floorplan/words.py").read_text(encoding="utf-8")
        for old, new in self.pieces:
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        exec(compile(source, NAME, "exec"), module.__dict__)


def main() -> None:
    """Answer what is known."""
    asked = json.load(sys.stdin)
    sys.meta_path.insert(0, Changed(asked["pieces"]))
    sys.path.insert(0, str(ROOT / "docs"))

    from noetl_mcp.bim.floorplan.edit.modify import modify
    from noetl_mcp.bim.floorplan.reading.read import read
    from noetl_mcp.bim.floorplan.schema_text import schema_text
    from noetl_mcp.bim.floorplan.tools import TOOLS
    from noetl_mcp.bim.floorplan.words import WORDS

    docs = importlib.import_module("generator.floorplan")
    answer = {
        "tables": WORDS.tables,
        "errors": {text: [found.message for found in read(text).errors] for text in asked["texts"]},
        "lists": [sorted(words) for words in docs.arguments()],
        "schemas": json.dumps([tool.input_schema for tool in TOOLS]),
        "text": schema_text(),
        "page": docs.language_page(),
        "modified": [modify(text, operations) for text, operations in asked["modify"]],
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
