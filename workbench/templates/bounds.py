"""How much one rendering may write and do: a template is text from anywhere."""

from __future__ import annotations

import time
from collections.abc import Iterable

from workbench.templates.errors import TemplateRunError

__all__ = ["MAX_NESTING", "MAX_OUTPUT", "MAX_SOURCE", "MAX_STEPS", "MAX_TOKENS", "Page"]

MAX_SOURCE = 2**20
"""Characters of a template."""

MAX_TOKENS = 50_000
"""Words, numbers, signs and texts of a template: reading and compiling it takes about 20 microseconds for each, so a second."""

MAX_OUTPUT = 4 * 2**20
"""Characters one rendering may write: more than any judge reads, and enough for a completion of a mebibyte."""

MAX_STEPS = 500_000
"""Tags rendered and turns of loops in one rendering; about a second."""

MAX_NESTING = 64
"""Blocks within blocks."""

SECONDS = 10.0
"""The last line, for what the counts above do not see."""


class Page:
    """What one rendering has written, and how much more it may write and do.

    Raises:
        TemplateRunError: From `write` and `step`, when it is too much.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.characters_left = MAX_OUTPUT
        self.steps = MAX_STEPS
        self.until = time.monotonic() + SECONDS

    def put_all(self, texts: Iterable[str]) -> None:
        """Add texts as they come, each as one step of work: `step` and `write` in one, for renderings in many small pieces."""
        append, now, until = self.parts.append, time.monotonic, self.until
        for text in texts:
            self.steps -= 1
            self.characters_left -= len(text)
            # One test for a piece that may be a single character; the calls below raise what is the matter.
            if self.steps < 0 or self.characters_left < 0 or now() > until:
                self.step(0)
                self.take(0)
            append(text)

    def write(self, text: str) -> None:
        """Add text."""
        self.take(len(text))
        self.parts.append(text)

    def take(self, characters: int) -> None:
        """Count characters made, written or not."""
        self.characters_left -= characters
        if self.characters_left < 0:
            raise TemplateRunError(
                "the template writes too much", expected=f"at most {MAX_OUTPUT:,} characters"
            )

    def step(self, count: int = 1) -> None:
        """Count work done."""
        self.steps -= count
        if self.steps < 0 or time.monotonic() > self.until:
            raise TemplateRunError(
                "the template does too much: loops within loops over long lists",
                expected=f"at most {MAX_STEPS:,} steps",
            )

    def text(self) -> str:
        """All of it."""
        return "".join(self.parts)
