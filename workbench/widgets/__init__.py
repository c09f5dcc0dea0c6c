"""Thin notebook views over the pure objects below."""
