"""The judges, one a file."""
