"""The parts of `benchmarks/faults.py`, one per file."""
