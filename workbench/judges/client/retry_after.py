"""The wait that a server requests."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping

__all__ = ["retry_after"]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `Retry-After-Ms` or `Retry-After` (seconds or a date); None if neither can be parsed.

    Args:
        headers: Of the response; a mapping that ignores case.

    Example:
        >>> retry_after({"retry-after-ms": "250"}), retry_after({"retry-after": "2"}), retry_after({})
        (0.25, 2.0, None)
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            wait = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        # float() accepts "nan" and "inf" as well.
        return wait if 0 <= wait < math.inf else None
    if (date := email.utils.parsedate_tz(headers.get("retry-after", ""))) is None:
        return None
    try:
        return max(0.0, email.utils.mktime_tz(date) - time.time())
    except (ValueError, OverflowError):
        return None
