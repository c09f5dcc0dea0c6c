"""What runs inside the worker: standard library only, nothing of ours is imported, each file is loaded by its path."""
