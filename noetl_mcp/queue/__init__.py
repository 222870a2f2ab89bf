"""Who may do a step: leases, and the one call by which a worker settles, unlocks and takes."""
