"""Code graders as source for other platforms: a self-contained Python module or JavaScript function."""

from __future__ import annotations

from workbench.graders.portable.writers import is_portable, portable, portable_javascript

__all__ = ["is_portable", "portable", "portable_javascript"]
