"""Register a target: a format with a reader and a writer that all targets share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.formats.shared.base import FORMATS, Document, Losses, Reading, register
from workbench.formats.targets.base import ExportPlan, Target
from workbench.formats.targets.reading import companions, detects, read
from workbench.formats.targets.writing import write
from workbench.run.suite import Suite

__all__ = ["register_target", "target_named"]


def register_target(name: str, title: str, *, lines: Callable[[ExportPlan], str], **settings: Any) -> Target:
    """Register a target as a format with the shared reader and writer.

    Args:
        name: As users type it.
        title: One-line description.
        lines: See `Target.lines`.
        settings: The other attributes of `Target`.
    """

    def read_here(reading: Reading) -> Suite:
        return read(target_named(name), reading)

    def write_here(suite: Suite, losses: Losses) -> Document:
        return write(target_named(name), suite, losses)

    def detect(document: Any, text: str) -> int:
        return detects(target_named(name), document, text)

    def companions_of(text: str, stem: str) -> Mapping[str, str]:
        return companions(target_named(name), text, stem)

    settings = {"takes_certificate": True, "companions": companions_of, **settings}
    target = Target(name, title, ".py", read_here, write_here, detect, lines=lines, **settings)
    register(target)
    return target


def target_named(name: str) -> Target:
    """A registered target.

    Raises:
        FormatError: Unknown name; the known ones are listed.
    """
    target = FORMATS.get(name)
    if not isinstance(target, Target):
        names = sorted(one.name for one in FORMATS.values() if isinstance(one, Target))
        raise FormatError(
            "unknown target",
            found=repr(name)[:80],
            expected=", ".join(names),
            hint=did_you_mean(str(name), names),
        )
    return target
