"""Render graders as a platform's texts without writing a file, and report what it does not support."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from workbench.formats.platforms.native.read_write import as_suite, certificate_for
from workbench.formats.platforms.openai.thread_graders import with_threads
from workbench.formats.shared.base import Document, Losses, get_format
from workbench.formats.targets.base import Target
from workbench.formats.targets.options import number_for, reference_for
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.report.certificates import Certificate
from workbench.run.suite import Suite

__all__ = ["Graders", "check_on_loss", "render"]

Graders = Grader | Entry | Iterable[Grader | Entry] | Suite
"""Types that can be written."""


_THREADED = {"adaptive", "letta", "osmosis"}
"""Formats whose code gets a thread, so that OpenAI-style functions are converted to functions of a thread."""


def check_on_loss(on_loss: str) -> None:
    """Check `on_loss`.

    Raises:
        ValueError: It is neither "refuse" nor "report".
    """
    if on_loss not in {"refuse", "report"}:
        raise ValueError(f"on_loss must be 'refuse' or 'report', not {on_loss!r}")


def render(
    graders: Graders,
    name: str,
    format: str = "native",  # noqa: A002
    *,
    on_loss: str = "refuse",
    on_error: str | float = "raise",
    reference: str = "",
    certificate: Certificate | None = None,
) -> tuple[Document, Losses]:
    """What `export` writes, without a file: the texts and the losses. Graders need not be validated.

    Args:
        graders: As in `export`.
        name: Of the main file, without a folder.
        format: As in `export`.
        on_loss: As in `export`.
        on_error: As in `export`.
        reference: As in `export`.
        certificate: As in `export`.

    Raises:
        FormatError: An unsupported setting, an unknown format, or a certificate that is not valid for these graders.
    """
    check_on_loss(on_loss)
    chosen, suite = get_format(format), as_suite(graders)
    sent = certificate_for(suite, certificate)
    losses = Losses(
        chosen.name, refuse=on_loss == "refuse", stem=Path(name).stem, on_error=number_for(on_error, chosen),
        reference=reference_for(reference, chosen), certificate=sent,
    )  # fmt: skip
    if certificate is not None and not chosen.takes_certificate:
        losses.note(
            "", "certificate", "the format cannot contain it: share it with certificate.to_html(path)"
        )
    if chosen.name in _THREADED or isinstance(chosen, Target):
        suite = with_threads(suite, losses)
    return chosen.variants.get(Path(name).suffix, chosen.write)(suite, losses), losses
