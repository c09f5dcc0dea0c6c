"""The endpoint grader, and the protocol of its reward servers."""
