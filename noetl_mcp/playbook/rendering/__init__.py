"""Rendering: templates in a sandbox, strict about names, true to types, careful with secrets."""
