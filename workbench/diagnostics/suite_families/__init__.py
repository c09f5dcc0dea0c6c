"""Diagnostics over several graders, one family a file; each registers itself with `@suite_diagnostic`."""
