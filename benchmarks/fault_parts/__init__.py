"""The parts of `benchmarks/faults.py`, one a file."""
