"""Judges in exported files: their question, who is asked and how, and what an answer means."""
