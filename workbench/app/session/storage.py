"""The store of an app for labels, judges' replies and run summaries."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from workbench.store import Store, StoreError, open_store
from workbench.store.address import parse

DEFAULT_STORE = "sqlite:///workbench.db"
"""The default address for labels, judges' replies and run summaries."""


class Storage:
    """A store that is opened when it is first needed.

    Attributes:
        warning: A problem that the user must know about; "" for none.

    Args:
        address: A `Store`, its address, or None for a private one in memory.
    """

    def __init__(self, address: Any) -> None:
        self._address = address
        self.warning = ""
        self._failure: StoreError | None = None  # avoids connecting to an unreachable server on every click

    @cached_property
    def store(self) -> Store:
        """The store, opened when it is first needed. If the default file cannot be opened, one in memory: see `warning`.

        Raises:
            StoreError: A store that was given cannot be opened.
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
            self.warning = (
                f"Labels and replies are stored only in memory, until this kernel ends: {error.what}"
            )
            if file := _file_of(DEFAULT_STORE):
                self.warning += f". The content of {file} is not read."
            # From here on the address is the actual one.
            self._address = None
            return open_store("sqlite://")

    @property
    def url(self) -> str:
        """The address of labels and replies, without password; "" for memory."""
        if self._address is None:
            return ""
        return _without_secrets(getattr(self._address, "url", self._address))

    @property
    def in_memory(self) -> bool:
        """Whether the store is in memory, so that its address cannot be opened elsewhere."""
        return self.url in {"", "sqlite://", "sqlite:///:memory:"}

    @property
    def is_new(self) -> bool:
        """Whether it is certainly empty: it is in memory, and was not needed so far."""
        return self._address is None and "store" not in self.__dict__

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self._opened_here:
            self.store.close()
            del self.__dict__["store"]

    def reopen(self) -> bool:
        """Close a store whose file was deleted or replaced, so that its next use opens it again; whether this happened.

        A `Store` that was given is not closed. One that could not be opened is tried again.
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
    """Name of the file at an address; "" if there is none."""
    path = parse(address).path
    return path.name if path is not None and path.is_file() else ""


def _without_secrets(address: Any) -> str:
    """An address as given, without secrets."""
    typed = os.fspath(address) if isinstance(address, os.PathLike) else str(address)
    try:
        parsed = parse(address)
    except StoreError as error:
        return error.where or error.found
    return typed if parsed.masked(typed) == typed and "***" not in parsed.shown else parsed.shown
