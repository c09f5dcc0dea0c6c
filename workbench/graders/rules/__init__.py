"""Rules of code graders, as plain functions of the standard library.

Each rule takes texts and settings and returns a verdict: score, reason, details. Nothing here depends on
samples, grades or packages, so the same text runs in this process, in the sandbox and in another
platform's Python: `workbench.graders.portable` slices it from these files.
"""
