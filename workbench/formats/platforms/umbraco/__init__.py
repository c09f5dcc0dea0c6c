"""Umbraco.AI's graders."""
