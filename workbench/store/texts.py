r"""Any Python text in a database's text column, restored exactly.

PostgreSQL has no NUL in a text, and no encoding supports a lone surrogate. A text with either is stored as a
mark and its escapes (`\x00`, `\ud800`); any other unchanged.
"""

from __future__ import annotations

import json
import re
from typing import Any

from workbench.store.errors import StoreError

__all__ = ["from_json", "read", "storable", "to_json"]

_MARK = "\x1bescaped:"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text in the form in which any database can store it."""
    # A text that starts like the mark is escaped as well, or it would be read back as another.
    if _UNSTORABLE.search(text) is None and not text.startswith(_MARK):
        return text
    return _MARK + text.encode("unicode_escape").decode("ascii")


def read(column: str) -> str:
    """The text that `storable` was given."""
    if not column.startswith(_MARK):
        return column
    return column[len(_MARK) :].encode("ascii").decode("unicode_escape")


def to_json(value: Any) -> str:
    """A value as JSON that a column can store.

    Raises:
        StoreError: JSON does not support it.
    """
    try:
        return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError("this cannot be stored: JSON does not support it", found=str(error)[:200]) from None


def from_json(column: str) -> Any:
    """The value that a column contains as JSON."""
    return json.loads(read(column))
