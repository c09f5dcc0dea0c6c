"""Certificates: made, checked, shown."""
