"""What happened: an append-only log, read in the order of its numbers."""
