"""What a conversation says, in a few digits: so that what was said of one is not taken for another's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from workbench.samples.view import Samples
from workbench.thread import StringThread

__all__ = ["digest_of", "digests_of"]

_DIGITS = 16
"""64 bits: of a million texts no two are alike but for one case in tens of millions."""


def digest_of(thread: StringThread) -> str:
    """A conversation's turns and tool calls as 16 hexadecimal digits; the metadata and tools on offer do not count.

    Example:
        >>> one, two = (StringThread([("user", "2+2?")], metadata) for metadata in ({"good": True}, None))
        >>> digest_of(one) == digest_of(two), digest_of(one) == digest_of(one.assistant("4"))
        (True, False)
    """
    turns, _, calls, *_ = thread.to_wire()
    said = json.dumps(
        [turns, calls], sort_keys=True, default=repr
    )  # another file's calls may be in another order
    return hashlib.sha256(said.encode("ascii")).hexdigest()[:_DIGITS]


def digests_of(samples: Samples, rows: Sequence[int]) -> list[str]:
    """The digests of some rows; of one that cannot be read that of an empty conversation.

    Raises:
        IndexError: A row that is not there.
    """
    return [digest_of(thread) for thread in samples.take(rows).threads]
