"""Reads judges' answers: verdicts, lists of claims, quotes and evidence."""
