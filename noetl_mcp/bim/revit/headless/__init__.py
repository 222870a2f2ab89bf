"""A building model in IFC that answers like Revit: opened, read, asked. Needs the extra `bim`."""
