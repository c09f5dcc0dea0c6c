"""Graders as files: one platform a module, registered by name."""

from __future__ import annotations

from workbench.formats.files import load, save
from workbench.formats.native import read, schema, write

__all__ = ["load", "read", "save", "schema", "write"]
