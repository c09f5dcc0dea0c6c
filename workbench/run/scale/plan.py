"""Serialised entries for grading in another process, where they are rebuilt."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.core.errors import ReportError, WorkbenchError
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.graders.serialization import parts
from workbench.judges.base import Judge
from workbench.judges.client.openai import OpenAIClient

__all__ = ["Plan", "shared_address", "with_concurrency"]


@dataclass(frozen=True)
class Plan:
    """The entries of a suite, serialised for another process.

    Attributes:
        spec: The entries as JSON; "" if one has no such form.
        entries: The entries themselves if one has no such form, such as a judge with a user's client: they are pickled.
    """

    spec: str
    entries: tuple[Entry, ...] = ()

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Plan:
        """The plan for some entries, without keys: each process reads its environment."""
        entries = tuple(entries)
        if any(
            isinstance(part, Judge) and part.client is not None
            for entry in entries
            for part in parts(entry.grader)
        ):
            return cls("", entries)  # a client is not part of a spec
        try:
            spec = json.dumps([entry.spec() for entry in entries])
            if _built(spec) == entries:
                return cls(spec)
        except (WorkbenchError, TypeError, ValueError):
            pass
        return cls("", entries)

    def built(self) -> tuple[Entry, ...]:
        """The entries; built from their spec once per process."""
        return _built(self.spec) if self.spec else self.entries


@lru_cache(maxsize=8)
def _built(spec: str) -> tuple[Entry, ...]:
    return tuple(Entry.build(entry) for entry in json.loads(spec))


def shared_address(store: Any) -> str | None:
    """The address of a store, which each process opens separately.

    Raises:
        ReportError: An open store object, or an address with a password, which would be sent and logged.
    """
    if store is None:
        return None
    if not isinstance(store, str | Path):
        raise ReportError(
            "other processes open the store themselves", found=f"store={type(store).__name__}",
            expected="its address", hint='store="postgresql://user@host/database", or a file that all of them reach',
        )  # fmt: skip
    if urlsplit(str(store)).password:
        raise ReportError(
            "the address of a store must not pass its password to other processes", found="an address with a password",
            expected="postgresql://user@host/database", hint="set PGPASSWORD, or a .pgpass file, on each machine",
        )  # fmt: skip
    return str(store)


def with_concurrency(entries: Sequence[Entry], share: Callable[[int], int]) -> tuple[Entry, ...]:
    """Entries whose judges have another concurrency limit.

    Args:
        entries: Graders, with judges anywhere inside them.
        share: From a client's `concurrency` to the new one.
    """
    return tuple(_changed(entry, share) for entry in entries)


def _changed(value: Any, share: Callable[[int], int]) -> Any:
    if isinstance(value, tuple):
        changed = tuple(_changed(item, share) for item in value)
        return value if all(new is old for new, old in zip(changed, value, strict=True)) else changed
    if not isinstance(value, Entry | Grader) or not is_dataclass(value):
        return value
    changes: dict[str, Any] = {}
    for f in fields(value):
        old = getattr(value, f.name)
        new = _changed(old, share) if f.init else old
        if new is not old:
            changes[f.name] = new
    if isinstance(value, Judge):
        client = value.chat_client()
        if isinstance(client, OpenAIClient):
            changes["client"] = replace(client, concurrency=share(client.concurrency))
    return replace(value, **changes) if changes else value
