"""The certificate of a run: `workbench run --certificate FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import workbench as wb
from workbench.core.files import check_writable

if TYPE_CHECKING:
    from workbench.report import Report

__all__ = ["check_place", "validate_all", "write_certificate"]

_ENDINGS = (".html", ".md", ".json")


def check_place(path: Path) -> None:
    """Refuse a file that cannot be written, before hours of grading.

    Raises:
        FormatError: Another ending, or a path that cannot be written.
    """
    from workbench.formats.files import check_target
    from workbench.formats.shared.base import get_format

    if path.suffix not in _ENDINGS:
        raise wb.errors.FormatError(
            "a certificate is written as a page, as Markdown, or with its graders", where=str(path), expected=" or ".join(_ENDINGS)
        )  # fmt: skip
    check_writable(path)
    if path.suffix == ".json":
        check_target(path, get_format("native"))


def validate_all(graders: wb.Suite, samples: wb.Samples) -> None:
    """Validate the graders: on the mock row, and if that lacks a column that they read, on the first rows.

    Raises:
        NotValidatedError: A grader does not pass its checks.
    """
    from workbench.formats.files import prove
    from workbench.formats.shared.base import require_all_validated

    prove(graders)
    try:
        require_all_validated(graders)
    except wb.errors.NotValidatedError:
        prove(graders, samples)
        require_all_validated(graders)


def write_certificate(path: Path, graders: wb.Suite, report: Report) -> Path:
    """Write the certificate of a run: a page, Markdown, or the graders with it as native JSON."""
    certificate = wb.certificate(graders, report)
    if path.suffix == ".json":
        return wb.save(graders, path, certificate=certificate)
    return certificate.to_html(path) if path.suffix == ".html" else certificate.to_markdown(path)
