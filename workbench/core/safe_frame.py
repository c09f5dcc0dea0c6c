"""DataFrames that are safe to print: texts of rows, graders and models never reach a terminal as escape sequences."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.display_text import visible


def _written(buf: Any, text: str | None) -> str | None:
    """The text with control and direction characters as code points: returned, or written to a path or an open file."""
    text = visible(text or "")
    if buf is None:
        return text
    if hasattr(buf, "write"):
        buf.write(text)
    else:
        Path(buf).write_text(text, "utf-8")
    return None


class SafeSeries(pd.Series):
    """A series that is safe to print; its values are unchanged."""

    @property
    def _constructor(self) -> Any:
        return SafeSeries

    @property
    def _constructor_expanddim(self) -> Any:
        return SafeFrame

    def value_counts(self, *args: Any, **settings: Any) -> Any:
        """Count values as pandas does; the result is safe to print, too."""
        return SafeSeries(super().value_counts(*args, **settings))

    def describe(self, *args: Any, **settings: Any) -> Any:  # type: ignore[misc]  # final for the type checker alone
        """Describe as pandas does; the result is safe to print, too."""
        return SafeSeries(super().describe(*args, **settings))

    def to_string(self, buf: Any = None, *args: Any, **settings: Any) -> Any:
        """Render as pandas does; `repr` and `print` use this, too."""
        return _written(buf, super().to_string(None, *args, **settings))

    def to_markdown(self, buf: Any = None, *args: Any, **settings: Any) -> Any:
        """Render as pandas does."""
        return _written(buf, super().to_markdown(None, *args, **settings))


class SafeFrame(pd.DataFrame):
    """A frame that is safe to print, like every frame and series derived from it."""

    @property
    def _constructor(self) -> Any:
        return SafeFrame

    @property
    def _constructor_sliced(self) -> Any:
        return SafeSeries

    def value_counts(self, *args: Any, **settings: Any) -> Any:
        """Count rows as pandas does; the result is safe to print, too."""
        return SafeSeries(super().value_counts(*args, **settings))

    def describe(self, *args: Any, **settings: Any) -> Any:  # type: ignore[misc]  # final for the type checker alone
        """Describe as pandas does; the result is safe to print, too."""
        return SafeFrame(super().describe(*args, **settings))

    def info(self, verbose: bool | None = None, buf: Any = None, *args: Any, **settings: Any) -> None:
        """Write the summary of the columns as pandas does, with safe names."""
        text = io.StringIO()
        super().info(verbose, text, *args, **settings)
        print(visible(text.getvalue()), end="", file=buf)

    def to_string(self, buf: Any = None, *args: Any, **settings: Any) -> Any:
        """Render as pandas does; `repr` and `print` use this, too."""
        return _written(buf, super().to_string(None, *args, **settings))

    def to_markdown(self, buf: Any = None, *args: Any, **settings: Any) -> Any:
        """Render as pandas does."""
        return _written(buf, super().to_markdown(None, *args, **settings))


def safe_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as one that is safe to print; columns are shared, not copied.

    Example:
        >>> safe_frame(pd.DataFrame({"completion": [chr(27) + "[2J"]}))["completion"].to_string()
        '0    ⟨U+001B⟩[2J'
    """
    return SafeFrame(frame, copy=False)
