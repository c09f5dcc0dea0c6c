"""Graders as files: one module or folder per platform, registered by name."""

from __future__ import annotations

from workbench.core.discovery import load_modules
from workbench.formats import platforms, targets
from workbench.formats.files import convert, dumps, export, load, loads, save
from workbench.formats.grader_sources import read_graders
from workbench.formats.platforms.letta import letta_thread
from workbench.formats.platforms.native import read, schema, write
from workbench.formats.shared import FORMATS, Document, Format, Loss, Losses, Reading, register
from workbench.formats.shared.writing import Converted, detect

# Formats are discovered: every module in `platforms` and its folders, and in `targets`, registers its own.
load_modules(platforms)
load_modules(targets)

# Lists show the native format first, the others by name, independent of import order.
for _name in sorted(FORMATS, key=lambda name: (name != "native", name)):
    FORMATS[_name] = FORMATS.pop(_name)

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
    "dumps",
    "export",
    "letta_thread",
    "load",
    "loads",
    "read",
    "read_graders",
    "register",
    "save",
    "schema",
    "write",
]
