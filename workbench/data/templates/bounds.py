"""Limits on the output and the steps of one rendering: a template may be untrusted."""

from __future__ import annotations

import time
from collections.abc import Iterable

from workbench.data.templates.errors import TemplateRunError

__all__ = ["MAX_NESTING", "MAX_OUTPUT", "MAX_SOURCE", "MAX_STEPS", "MAX_TOKENS", "Page"]

MAX_SOURCE = 2**20
"""Maximum characters of a template."""

MAX_TOKENS = 50_000
"""Maximum words, numbers, signs and texts of a template: parsing and compiling takes about 20 us for each, a second in all."""

MAX_OUTPUT = 4 * 2**20
"""Maximum characters of one rendering: more than any judge reads, and enough for a completion of a mebibyte."""

MAX_STEPS = 500_000
"""Maximum tags rendered and turns of loops in one rendering; about a second."""

MAX_NESTING = 64
"""Maximum depth of nested blocks."""

SECONDS = 10.0
"""Maximum time, for work that the counts above do not include."""


class Page:
    """The output of one rendering, and its remaining characters and steps.

    Raises:
        TemplateRunError: From `write` and `step`, when a limit is exceeded.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.characters_left = MAX_OUTPUT
        self.steps = MAX_STEPS
        self.until = time.monotonic() + SECONDS

    def put_all(self, texts: Iterable[str]) -> None:
        """Add texts as they are generated, each as one step of work: `step` and `write` in one, for many small pieces."""
        append, now, until = self.parts.append, time.monotonic, self.until
        for text in texts:
            self.steps -= 1
            self.characters_left -= len(text)
            # One test for a piece that may be a single character; the calls below raise the error.
            if self.steps < 0 or self.characters_left < 0 or now() > until:
                self.step(0)
                self.take(0)
            append(text)

    def write(self, text: str) -> None:
        """Add text."""
        self.take(len(text))
        self.parts.append(text)

    def take(self, characters: int) -> None:
        """Count characters made, whether written or not."""
        self.characters_left -= characters
        if self.characters_left < 0:
            raise TemplateRunError(
                "the template writes too much", expected=f"at most {MAX_OUTPUT:,} characters"
            )

    def step(self, count: int = 1) -> None:
        """Count steps."""
        self.steps -= count
        if self.steps < 0 or time.monotonic() > self.until:
            raise TemplateRunError(
                "the template does too much: loops within loops over long lists",
                expected=f"at most {MAX_STEPS:,} steps",
            )

    def text(self) -> str:
        """All of it."""
        return "".join(self.parts)
