"""Files of graders: read with a limit, written whole or not at all, from and to any platform."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.errors import FormatError
from workbench.files import check_writable, write_atomically
from workbench.formats import native
from workbench.formats.base import (
    FORMATS,
    Document,
    Format,
    Losses,
    Reading,
    get_format,
    parts,
    read_text,
    require_proofs,
)
from workbench.formats.parsing import parse_json, parse_yaml
from workbench.formats.writing import Converted, write_document
from workbench.graders import Grader
from workbench.graders.combine import Entry
from workbench.suite import Suite

__all__ = ["Converted", "convert", "detect", "export", "load", "loads", "save"]


def save(
    graders: Grader | Iterable[Grader] | Suite,
    path: str | os.PathLike[str],
    *,
    allow_unvalidated: bool = False,
) -> Path:
    """Write graders to a native JSON file, atomically: the old file stays until the new one is whole.

    Args:
        graders: One grader, a list of them, or a `Suite`.
        path: The file; its folder must exist.
        allow_unvalidated: Write graders that have not passed their checks, marked as such.

    Returns:
        The path.

    Raises:
        NotValidatedError: A grader is not validated; nothing is written.
        FormatError: The folder is missing or cannot be written.
    """
    items = [graders] if isinstance(graders, Grader) else graders
    check_writable(path)
    return write_atomically(path, native.write(items, allow_unvalidated=allow_unvalidated))


def load(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    trust: bool = False,
    era: str = "",
) -> Suite:
    """Read graders from a file of any platform. Nothing in it is executed.

    Sources in it count as *imported*: they run only where the kernel confines them, unless `trust` is given.

    Args:
        path: The file.
        format: Its platform, as `workbench formats` lists them; found out by default.
        trust: Run these sources even where the machine cannot confine them. Read them first.
        era: Release of the platform whose rules apply, such as "0.17" for Letta; by default the release that
            the seed document of our reader describes, or a later one the file shows it needs.

    Raises:
        FormatError: Missing, too large, unreadable, of no known platform, tampered with; file and place in
            the document are named.
    """
    return _read(*_opened(path, format, trust=trust, era=era))


def _opened(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    trust: bool = False,
    era: str = "",
) -> tuple[Reading, str | None]:
    target = Path(path)
    return Reading(read_text(target), str(target), target.parent, trust, era), format


def loads(
    text: str,
    format: str | None = None,  # noqa: A002
    *,
    where: str = "text",
    trust: bool = False,
    era: str = "",
) -> Suite:
    """Graders out of a text, such as a platform's JSON pasted into a cell. See `load`."""
    return _read(Reading(text.removeprefix("\ufeff"), where, None, trust, era), format)


def _read(reading: Reading, name: str | None) -> Suite:
    chosen = detect(reading.text, reading.where) if name is None else get_format(name)
    if reading.era and not chosen.eras:
        raise FormatError(f"the format {chosen.name!r} has no eras", where=reading.where, found=reading.era)
    try:
        return chosen.read(reading)
    except FormatError as error:
        if error.where:
            raise
        raise FormatError(
            error.what, where=reading.where, found=error.found, expected=error.expected, hint=error.hint
        ) from error
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        what = f"this {chosen.name} document cannot be read"
        raise FormatError(what, where=reading.where, found=str(error)[:300]) from error


def detect(text: str, where: str = "text") -> Format:
    """The format a text is most surely of.

    Raises:
        FormatError: It fits none, or two alike; what was tried is listed.
    """
    document, told = _parsed(text, where)
    sure = {name: one.detect(document, text) for name, one in FORMATS.items()}
    best = max(sure.values())
    found = [name for name, degree in sure.items() if degree == best and best > 0]
    if len(found) == 1:
        return FORMATS[found[0]]
    if told is not None and not found:
        raise told
    raise FormatError(
        "the platform of this document cannot be told",
        where=where,
        found=_looks(document, text) + (f"; it could be {' or '.join(found)}" if found else ""),
        expected="one of " + ", ".join(FORMATS),
        hint=_NAME_IT,
    )


_NAME_IT = "name it: format=..., or --from on the command line"


def _parsed(text: str, where: str) -> tuple[Any, FormatError | None]:
    """The document as JSON or YAML, None where it is neither, with the complaint if it looks like one of them."""
    start = text.lstrip()[:1]
    if start in {"{", "["}:
        return _or_complaint(parse_json, text, where)
    if _looks_like_python(text):
        return None, None
    document, told = _or_complaint(parse_yaml, text, where)
    return (document if isinstance(document, dict | list) else None), told


def _or_complaint(parse: Callable[[str, str], Any], text: str, where: str) -> tuple[Any, FormatError | None]:
    try:
        return parse(text, where), None
    except FormatError as error:
        platforms = f"if it is of another kind, {_NAME_IT}; there are {', '.join(FORMATS)}"
        hint = "; ".join(filter(None, [error.hint, platforms]))
        return None, FormatError(
            error.what, where=error.where, found=error.found, expected=error.expected, hint=hint
        )


def _looks_like_python(text: str) -> bool:
    """Whether some line can only be Python's."""
    return (
        re.search(r"^(import |from \S+ import |def |async def |class |@\w|#!|\"\"\")", text, re.MULTILINE)
        is not None
    )


def _looks(document: Any, text: str) -> str:
    if isinstance(document, dict):
        return "an object with the keys " + ", ".join(map(repr, list(document)[:8]))
    if not text.strip():
        return "an empty file"
    return "a list" if isinstance(document, list) else "neither JSON nor YAML that says what it is"


def export(
    graders: Grader | Iterable[Grader | Entry] | Suite,
    path: str | os.PathLike[str],
    format: str = "native",  # noqa: A002
    *,
    on_loss: str = "refuse",
    allow_unvalidated: bool = False,
) -> Converted:
    """Write graders as a platform's file: whole or not at all.

    Args:
        graders: One grader, a list of them, or a `Suite`.
        path: The main file; companions, such as `graders.py`, are written beside it.
        format: As `workbench formats` lists them.
        on_loss: "refuse" what the platform cannot say, naming grader, field and way out; or "report": drop
            it and write what was dropped to `<path>.losses.json`.
        allow_unvalidated: Write graders that have not passed their checks.

    Raises:
        NotValidatedError: A grader is not validated; nothing is written.
        FormatError: What the platform cannot say, an unknown format, or a folder that cannot be written.
    """
    if on_loss not in {"refuse", "report"}:
        raise ValueError(f"on_loss must be 'refuse' or 'report', not {on_loss!r}")
    chosen = get_format(format)
    suite = graders if isinstance(graders, Suite) else Suite(graders)
    if not allow_unvalidated:
        require_proofs(suite)
    losses = Losses(chosen.name, refuse=on_loss == "refuse")
    document = (
        Document(native.write(suite, allow_unvalidated=allow_unvalidated))
        if format == "native"
        else chosen.variants.get(Path(path).suffix, chosen.write)(suite, losses)
    )
    return write_document(Path(path), document, losses)


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    to: str,
    *,
    on_loss: str = "refuse",
    allow_unvalidated: bool = False,
    **reading: Any,
) -> Converted:
    """One platform's file as another's. Sources in it are proved in the sandbox before they are written.

    Args:
        source: The file to read.
        target: The file to write.
        to: Its platform.
        on_loss: See `export`.
        allow_unvalidated: Write sources that do not pass their checks.
        reading: `format`, `trust` and `era` of `load`; the platform of `source` is found out by default.

    Raises:
        FormatError: As `load` and `export`, or `target` is `source`; nothing is written then.
        NotValidatedError: A source does not pass its checks; nothing is written.
    """
    get_format(to)
    if Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise FormatError(
            "the file to write is the file to read", where=str(target), hint="write to another name"
        )
    read, chosen = _opened(source, **reading)
    suite = _read(read, chosen)
    if not allow_unvalidated:
        prove(suite)
    written = export(suite, target, to, on_loss=on_loss, allow_unvalidated=allow_unvalidated)
    return replace(written, notes=(*read.notes, *written.notes))


def prove(suite: Suite) -> None:
    """Validate every grader of a suite that can be and was not."""
    for grader in suite.graders:
        for one in parts(grader):
            if hasattr(one, "require_proof") and not getattr(one, "validation", None):
                one.validate()  # type: ignore[attr-defined]
