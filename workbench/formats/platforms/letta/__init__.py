"""Letta Evals's graders."""
