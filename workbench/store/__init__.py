"""The store: graders with versions, judges' replies, labels, run summaries and saved views in SQLite or PostgreSQL."""

from __future__ import annotations

from workbench.core.errors import StoreError
from workbench.store.effective_labels import Label
from workbench.store.graders import GraderEntry, GraderEvent
from workbench.store.listing import Listing
from workbench.store.runs import StoredRun
from workbench.store.store import Store, open_store

__all__ = [
    "GraderEntry",
    "GraderEvent",
    "Label",
    "Listing",
    "Store",
    "StoreError",
    "StoredRun",
    "open_store",
]
