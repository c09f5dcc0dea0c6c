"""Graders that the tests of rewards share, proven."""

import workbench as wb

RIGHT = """
async def grade(thread):
    metadata = thread.metadata or {}
    return 1.0 if (thread.completion() or "").strip() == str(metadata.get("answer")) else 0.0
"""
FAULTS = """
import os


async def grade(thread):
    kind = (thread.metadata or {}).get("kind")
    if kind == "loop":
        while True:
            pass
    if kind == "crash":
        os._exit(3)
    if kind == "bomb":
        kept = []
        while True:
            kept.append(bytearray(1_000_000))
    return float(len(thread.completion() or ""))
"""


def proven(text, name, **settings):
    """A function grader that passed its checks."""
    grader = wb.FunctionGrader.from_source(text, name=name, **settings)
    grader.validate().raise_for_failure()
    return grader


def right(**settings):
    """Whether the completion is the row's answer."""
    return proven(RIGHT, "right", **settings)


def faulty(**settings):
    """The completion's length; loops, crashes and eats memory where a row says so."""
    return proven(FAULTS, "faulty", **{"timeout": 0.5, "memory_mb": 128, **settings})
