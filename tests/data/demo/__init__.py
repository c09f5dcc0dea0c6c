"""Tests of the demo data."""
