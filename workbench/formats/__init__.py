"""Graders as files: one platform a module, registered by name."""

from __future__ import annotations

from workbench.formats.base import FORMATS, Document, Format, Loss, Losses, Reading, register
from workbench.formats.files import Converted, convert, detect, export, load, loads, save
from workbench.formats.letta_trajectory import letta_thread
from workbench.formats.native import read, schema, write

# Imported for their registrations; `native` comes first in every list.
from workbench.formats import adaptive, letta, openai, osmosis, umbraco, vllora  # isort: skip
from workbench.formats import modules  # isort: skip

__all__ = [
    "FORMATS",
    "Converted",
    "Document",
    "Format",
    "Loss",
    "Losses",
    "Reading",
    "adaptive",
    "convert",
    "detect",
    "export",
    "letta",
    "letta_thread",
    "load",
    "loads",
    "modules",
    "openai",
    "osmosis",
    "read",
    "register",
    "save",
    "schema",
    "umbraco",
    "vllora",
    "write",
]
