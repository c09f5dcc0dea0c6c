"""Graders of values: numbers, choices, lists and expressions that a text states as its result."""
