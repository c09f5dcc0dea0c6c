"""A caller of the store that does not wait for its answer."""

import asyncio

import pytest


async def begin_and_cancel(call):
    """Begin a coroutine, and cancel it two turns of the event loop later: it was handed to the store by then."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
