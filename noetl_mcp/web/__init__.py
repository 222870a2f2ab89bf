"""The face for browsers and programs: a JSON API over the road, guarded."""
