"""Parses judges' replies: verdicts, lists of claims, quotes and evidence."""
