"""What code graders decide, as plain functions of the standard library.

Each rule takes texts and settings and returns a verdict: score, reason, details. Nothing here knows of
samples, grades or packages, so the very same text runs in this process, in the sandbox and in another
platform's Python: `workbench.graders.portable` slices it out of these files.
"""
