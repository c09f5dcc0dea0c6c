"""The settings of an export, as the page shows and sends them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.app.session.export_preview import chooses_on_error, chooses_reference
from workbench.core.display_text import one_line
from workbench.core.errors import WorkbenchError
from workbench.formats.shared.base import Format, get_format

__all__ = ["ON_ERROR", "ON_LOSS", "ExportSettings"]

ON_LOSS = ("refuse", "report")
"""How to treat unsupported settings; see `export`."""
ON_ERROR = {"raise": "raise", "0.0": 0.0, "-1.0": -1.0}
"""The page's value for an unscored row, to the value for `export`."""


@dataclass(frozen=True)
class ExportSettings:
    """A user's settings.

    Attributes:
        platform: Name of a format.
        file: Where to write, as it was typed; "" for the default.
        on_loss: See `ON_LOSS`.
        on_error: A key of `ON_ERROR`.
        reference: The column with the references; "" for the usual names.
        allow_unvalidated: Whether graders that are not validated are exported.
    """

    platform: str = "native"
    file: str = ""
    on_loss: str = "refuse"
    on_error: str = "raise"
    reference: str = ""
    allow_unvalidated: bool = False

    def for_platform(self, name: str) -> ExportSettings:
        """The same for another platform: the old platform's file ending is removed.

        Raises:
            FormatError: Unknown platform.
        """
        get_format(name)
        path = Path(self.file)
        old = _endings(get_format(self.platform))
        file = str(path.with_suffix("")) if self.file and path.suffix in old else self.file
        return replace(self, platform=name, file=file)

    def changed(self, settings: Mapping[str, Any]) -> ExportSettings:
        """With these settings, as the page sends them.

        Raises:
            WorkbenchError: Unknown setting, or a value that it does not support.
        """
        for name, value in settings.items():
            if not _fits(name, value):
                raise WorkbenchError("invalid export setting", found=one_line(f"{name}={value!r}"))
        return replace(self, **settings)

    @property
    def arguments(self) -> dict[str, Any]:
        """The settings as `export` takes them; those that this platform does not have are omitted."""
        on_error = ON_ERROR[self.on_error] if chooses_on_error(self.platform) else "raise"
        reference = self.reference.strip() if chooses_reference(self.platform) else ""
        chosen = {"on_loss": self.on_loss, "on_error": on_error, "allow_unvalidated": self.allow_unvalidated}
        return chosen | ({"reference": reference} if reference else {})

    def data(self) -> dict[str, Any]:
        """`ExportData["settings"]`."""
        return {
            "on_loss": self.on_loss, "on_error": self.on_error, "reference": one_line(self.reference),
            "allow_unvalidated": self.allow_unvalidated,
        }  # fmt: skip


def _endings(platform: Format) -> set[str]:
    return {platform.suffix, *platform.variants}


def _fits(name: str, value: Any) -> bool:
    if name in {"on_loss", "on_error"}:
        return value in (ON_LOSS if name == "on_loss" else tuple(ON_ERROR))
    if name in {"file", "reference"}:
        return isinstance(value, str) and len(value) <= 1_000
    return name == "allow_unvalidated" and isinstance(value, bool)
