"""The endpoint grader, and the protocol it speaks."""
