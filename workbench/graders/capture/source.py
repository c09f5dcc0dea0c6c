"""A grader's source text, which is run, saved and exported."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from workbench.core.errors import CaptureError
from workbench.graders.capture.credentials import refuse_credentials_in

__all__ = ["MAX_BYTES", "Source"]

MAX_BYTES = 65536
"""Maximum source in UTF-8 bytes, inclusive: the limit of Adaptive's grade function contract."""


@dataclass(frozen=True)
class Source:
    r"""One self-contained module whose function is called `grade`.

    Attributes:
        text: The module as exported, with `\n` as line end.
        function: The name the author gave the function.
        origin: Its location: "cell 3", "graders.py:12", "text".
        imports: Captured import lines.
        helpers: Names of captured functions, classes and objects.
        constants: Names of captured plain values.
        imported: True if the text is from an untrusted file, False if the user wrote it in this session.

    Raises:
        CaptureError: The text is larger than `MAX_BYTES`, contains a credential, or cannot be encoded as UTF-8.

    Example:
        >>> source = Source("async def grade(thread):\n    return 1.0\n")
        >>> source.function, source.sha256[:8]
        ('grade', 'f25c9e7b')
    """

    text: str
    function: str = "grade"
    origin: str = "text"
    imports: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    imported: bool = field(default=False, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        size = len(_encoded(self.text, self.origin))
        if size > MAX_BYTES:
            raise CaptureError(
                "the source is too large",
                where=self.origin,
                found=f"{size:,} bytes",
                expected=f"at most {MAX_BYTES:,} bytes (64 KiB)",
                hint="move large tables into a column of the data; graders read it from thread.metadata",
            )
        refuse_credentials_in(self.text, self.origin)

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the text's UTF-8 bytes, to which trust and validation are bound."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def __repr__(self) -> str:
        lines = self.text.count("\n")
        return f"Source({self.function!r} from {self.origin}, {lines} lines, sha256 {self.sha256[:12]})"


def _encoded(text: str, origin: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise CaptureError(
            "the source is not valid Unicode text",
            where=origin,
            found=f"a lone surrogate at character {error.start}",
            hint="write the character as an escape, such as '\\ud800', inside a string",
        ) from None
