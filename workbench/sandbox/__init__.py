"""Capture, validation and the sandbox: no grader source runs in this process."""
