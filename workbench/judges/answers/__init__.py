"""A judge's answer read: verdicts, lists of claims, quotes, evidence."""
