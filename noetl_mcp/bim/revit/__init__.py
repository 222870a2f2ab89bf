"""Revit as it is on the wire."""
