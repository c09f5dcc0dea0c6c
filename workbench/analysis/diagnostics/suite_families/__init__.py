"""Diagnostics over several graders, one family per file; each registers itself with `@suite_diagnostic`."""
