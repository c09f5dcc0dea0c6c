"""A grader of code that the tests of this folder share."""

SOURCE = """
async def grade(thread):
    n = thread.metadata["n"]
    if n % 50 == 7:
        raise ValueError("broken")
    return (n % 10) / 10 if thread.completion() else 0.0
"""
