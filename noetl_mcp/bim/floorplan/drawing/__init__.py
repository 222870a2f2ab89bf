"""How a floor plan looks: its walls and openings, its letters and lines, as values."""
