"""Osmosis's graders."""
