"""Families of diagnostics, one file each. Every module here is imported and registers its diagnostics."""
