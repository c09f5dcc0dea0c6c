"""Which part of a conversation a grader looks at: a named rule from a thread to a text.

The rules of `builtin/`, and whatever is registered with `@extractor("name")`.
"""

from __future__ import annotations

from workbench.discovery import load_modules
from workbench.extractors import builtin
from workbench.extractors.registry import EXTRACTORS, LETTA, Extractor, as_extractor, extractor

# An extractor is found by being there: every module of `builtin` registers its own.
load_modules(builtin)

__all__ = ["EXTRACTORS", "LETTA", "Extractor", "as_extractor", "extractor"]
