"""Adaptive's graders."""
