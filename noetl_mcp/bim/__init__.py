"""Building models: what Revit, Rhino and floor plans say and do."""
