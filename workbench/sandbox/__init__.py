"""Capture, validation and the sandbox: nothing here runs grader source in this process."""
