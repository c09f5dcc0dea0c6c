"""A certificate in a notebook: a compact card, digests shortened, every text escaped, in light and dark themes."""

from __future__ import annotations

import re

from workbench.core.display import escaped, html_block, html_table, paragraph
from workbench.report.certificates.parts import CertificateLike
from workbench.report.certificates.text import NO_SIGNATURE, Facts, facts, facts_of, heading, title

__all__ = ["as_html"]

_MAX_GRADERS = 12  # maximum graders shown
_DIGEST = re.compile(r"\b([0-9a-f]{16})[0-9a-f]{48}\b")


def as_html(certificate: CertificateLike) -> str:
    """The card."""
    shown = certificate.graders[:_MAX_GRADERS]
    more = len(certificate.graders) - len(shown)
    parts = [
        f"<p class='lead'><b>{escaped(title(certificate), 600)}</b></p>{_table(facts(certificate))}",
        *(f"<p><b>{escaped(heading(grader), 600)}</b></p>{_table(facts_of(grader))}" for grader in shown),
        paragraph(f"and {more:,} more in .graders" if more else "", "quiet"),
        paragraph(f"Intervals are at 95 %. {NO_SIGNATURE}", "quiet"),
    ]
    return html_block("".join(parts), "wb-report", label="Certificate")


def _table(pairs: Facts) -> str:
    return html_table([], [(name, _cut(text)) for name, text in pairs], limit=600)


def _cut(text: str) -> str:
    return _DIGEST.sub(r"\1…", text)
