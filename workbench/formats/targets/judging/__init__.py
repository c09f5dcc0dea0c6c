"""Judges in exported files: their prompt, the request to the model, and how a reply is read."""
