"""Floor plans: their language, what a plan means, how it is drawn, changed and exported."""
