"""Graders of measured properties: repetition, citations, language, and the row's latency, cost and tokens."""
