"""The judges, one family per file."""
