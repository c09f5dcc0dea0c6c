"""Which part of a conversation a grader looks at: a named rule from a thread to a text.

The rules of `builtin/`, and whatever is registered with `@extractor("name")`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from workbench.extractors import builtin
from workbench.extractors.registry import EXTRACTORS, LETTA, Extractor, as_extractor, extractor

# An extractor is found by being there: every module of `builtin` registers its own.
for _module in sorted(module.name for module in iter_modules(builtin.__path__)):
    import_module(f"{builtin.__name__}.{_module}")

__all__ = ["EXTRACTORS", "LETTA", "Extractor", "as_extractor", "extractor"]
