"""Widgets in a real kernel, without a browser."""
