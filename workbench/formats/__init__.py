"""Graders as files: one platform a module, registered by name."""

from __future__ import annotations

from workbench.formats.base import FORMATS, Document, Format, Loss, Losses, Reading, register
from workbench.formats.files import Converted, convert, detect, export, load, loads, save
from workbench.formats.native import read, schema, write

__all__ = [
    "FORMATS",
    "Converted",
    "Document",
    "Format",
    "Loss",
    "Losses",
    "Reading",
    "convert",
    "detect",
    "export",
    "load",
    "loads",
    "read",
    "register",
    "save",
    "schema",
    "write",
]
