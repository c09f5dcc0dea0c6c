"""Extractors: named functions from a thread to the text that a grader grades.

Those of `builtin/`, and functions registered with `@extractor("name")`.
"""

from __future__ import annotations

from workbench.core.discovery import load_modules
from workbench.data.extractors import builtin
from workbench.data.extractors.registry import EXTRACTORS, LETTA, Extractor, as_extractor, extractor

# Every module in `builtin` registers its extractors when it is loaded.
load_modules(builtin)

__all__ = ["EXTRACTORS", "LETTA", "Extractor", "as_extractor", "extractor"]
