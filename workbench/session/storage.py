"""Where an app keeps labels, judges' answers and run summaries."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from workbench.store import Store, StoreError, open_store
from workbench.store.address import parse

__all__ = ["DEFAULT_STORE", "Storage"]

DEFAULT_STORE = "sqlite:///workbench.db"
"""Where labels, judges' answers and run summaries are kept by default."""


class Storage:
    """A store that is opened when it is first needed.

    Attributes:
        warning: What whoever relies on it must know; "" where all is well.

    Args:
        address: A `Store`, its address, or None for one in memory that nobody else sees.
    """

    def __init__(self, address: Any) -> None:
        self._address = address
        self.warning = ""
        self._failure: StoreError | None = None  # a server that does not answer is not asked by every click

    @cached_property
    def store(self) -> Store:
        """The store, opened when it is first needed. Where the default file cannot be, one in memory: see `warning`.

        Raises:
            StoreError: A store that was asked for cannot be opened.
        """
        if isinstance(self._address, Store):
            return self._address
        if self._failure is not None:
            raise self._failure
        try:
            return open_store("sqlite://" if self._address is None else self._address)
        except StoreError as error:
            if self._address != DEFAULT_STORE:
                self._failure = error
                raise
            self.warning = f"Labels and answers are kept in memory only, until this kernel ends: {error.what}"
            if file := _file_of(DEFAULT_STORE):
                self.warning += f". What {file} holds is not read."
            # From here on the address says where things really are.
            self._address = None
            return open_store("sqlite://")

    @property
    def url(self) -> str:
        """Where labels and answers are kept, without password; "" for memory."""
        if self._address is None:
            return ""
        return _without_secrets(getattr(self._address, "url", self._address))

    @property
    def in_memory(self) -> bool:
        """Whether the store's address leads nobody else to it."""
        return self.url in {"", "sqlite://", "sqlite:///:memory:"}

    @property
    def is_new(self) -> bool:
        """Whether nothing can be in it: it is in memory, and was not needed so far."""
        return self._address is None and "store" not in self.__dict__

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self._opened_here:
            self.store.close()
            del self.__dict__["store"]

    def reopen(self) -> bool:
        """Close a store whose file was deleted or replaced, so that its next use opens it anew; whether it was so.

        A `Store` that was given is not touched. One that could not be opened is tried again.
        """
        self._failure = None
        lost = self._opened_here and bool(self.store.lost)
        if lost:
            self.close()
        return lost

    @property
    def _opened_here(self) -> bool:
        return "store" in self.__dict__ and self.store is not self._address


def _file_of(address: str) -> str:
    """Name of the file at an address; "" where there is none."""
    path = parse(address).path
    return path.name if path is not None and path.is_file() else ""


def _without_secrets(address: Any) -> str:
    """An address as it was given, but for secrets in it."""
    typed = os.fspath(address) if isinstance(address, os.PathLike) else str(address)
    try:
        parsed = parse(address)
    except StoreError as error:
        return error.where or error.found
    return typed if parsed.masked(typed) == typed and "***" not in parsed.shown else parsed.shown
