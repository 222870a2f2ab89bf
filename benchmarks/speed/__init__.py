"""The cases of `benchmarks/engine.py`, and what they stand on."""
