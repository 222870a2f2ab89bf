"""Building models in IFC: how they are written. Needs the extra `bim`."""
