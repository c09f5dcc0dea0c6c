"""Single calls in warm workers, each with the score of a fresh worker."""

from __future__ import annotations

import asyncio
import marshal
from dataclasses import replace
from typing import Any

from workbench.core.grade import Grade
from workbench.sandbox.host.program import Program
from workbench.sandbox.host.worker_group import NotSelfContainedError
from workbench.sandbox.host.worker_pool import worker_pool


async def grade_alone(program: Program, wire: Any) -> Grade | None:
    """Grade one row; None if the program needs a fresh worker for that.

    The worker persists, and reruns the module's body before every row, so that no call can see the state of an earlier one.
    A text that could change state outside its module is not graded like this.

    Args:
        program: The grader.
        wire: The row as a wire tuple.

    Raises:
        SandboxError: The sandbox does not start, or this machine cannot confine the program.
    """
    batch = worker_pool().grade_isolated(program, [marshal.dumps(wire)])
    if batch is None:
        return None
    try:
        grades = await asyncio.wrap_future(batch.future)
    except NotSelfContainedError:
        worker_pool().not_contained(program)
        return None
    except asyncio.CancelledError:
        batch.stopped = True
        raise
    return replace(grades[0], printed=batch.printed.get(0))
