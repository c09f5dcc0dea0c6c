"""A certificate as one self-contained HTML page to share: no script, no request, every text escaped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.files import write_atomically
from workbench.report.certificates.text import NO_SIGNATURE, facts, facts_of, heading, title
from workbench.report.page.page import template

if TYPE_CHECKING:
    from workbench.report.certificates import Certificate

__all__ = ["render_certificate", "write_certificate"]


def write_certificate(certificate: Certificate, path: str | Path) -> Path:
    """Write the page, completely or not at all.

    Raises:
        FormatError: The file cannot be written.
    """
    return write_atomically(path, render_certificate(certificate))


def render_certificate(certificate: Certificate) -> str:
    """The page as text."""
    page = template("certificate.html").render(
        title=title(certificate),
        facts=facts(certificate),
        graders=[(heading(grader), facts_of(grader)) for grader in certificate.graders],
        remark=NO_SIGNATURE,
    )
    return str(page)
