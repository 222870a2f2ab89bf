"""Rhino as it is on the wire."""
