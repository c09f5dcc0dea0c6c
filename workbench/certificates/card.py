"""A certificate in a notebook: a quiet card, digests cut short, every text escaped, in light and dark themes."""

from __future__ import annotations

import re
from html import escape

from workbench.certificates.parts import CertificateLike
from workbench.certificates.words import NO_SIGNATURE, Facts, facts, facts_of, heading, title
from workbench.report.rich import STYLE

__all__ = ["as_html"]

_MOST = 12  # graders shown; a card is no list
_DIGEST = re.compile(r"\b([0-9a-f]{16})[0-9a-f]{48}\b")


def as_html(certificate: CertificateLike) -> str:
    """The card."""
    shown = certificate.graders[:_MOST]
    more = len(certificate.graders) - len(shown)
    sections = "".join(
        f"<p><b>{escape(heading(grader))}</b></p>{_table(facts_of(grader))}" for grader in shown
    )
    rest = f"<p class='quiet'>and {more:,} more in .graders</p>" if more else ""
    return (
        f"<div class='wb-report' role='group' aria-label='Certificate'><style>{STYLE}</style>"
        f"<p><b>{escape(title(certificate))}</b></p>{_table(facts(certificate))}{sections}{rest}"
        f"<p class='quiet'>Intervals are at 95 %. {escape(NO_SIGNATURE)}</p></div>"
    )


def _table(pairs: Facts) -> str:
    rows = "".join(
        f"<tr><td class='quiet'>{escape(name)}</td><td class='text'>{escape(_cut(text))}</td></tr>"
        for name, text in pairs
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _cut(text: str) -> str:
    return _DIGEST.sub(r"\1…", text)
