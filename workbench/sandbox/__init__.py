"""The sandbox, and the validation of sources in it: no grader source runs in this process."""
