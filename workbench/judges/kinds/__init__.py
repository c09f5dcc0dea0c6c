"""The judges, one per file."""
