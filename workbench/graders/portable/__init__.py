"""Code graders as source for other platforms: a self-contained Python module or JavaScript function."""

from __future__ import annotations

from workbench.graders.portable.python import is_portable, portable
from workbench.graders.portable.script import portable_javascript

__all__ = ["is_portable", "portable", "portable_javascript"]
