"""Edits of a plan's text: what may be asked, and the text that comes of it."""
