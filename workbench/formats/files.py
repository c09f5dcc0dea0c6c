"""Files of graders, read and written, from and to any platform: with a size limit, and completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.core.display_text import visible
from workbench.core.errors import FormatError, NotValidatedError
from workbench.data.samples import Sample, as_samples
from workbench.formats.platforms import native
from workbench.formats.platforms.native import as_suite, certificate_for
from workbench.formats.platforms.openai import with_threads
from workbench.formats.shared import (
    Document,
    Format,
    Loss,
    Losses,
    Reading,
    get_format,
    read_text,
    require_all_validated,
)
from workbench.formats.shared.parsing import to_json
from workbench.formats.shared.training_code import cautions, notebook_text
from workbench.formats.shared.writing import Converted, check_target, detect, write_document
from workbench.formats.targets.module import named_reference
from workbench.formats.targets.target import Target
from workbench.graders import Grader
from workbench.graders.base import is_number
from workbench.graders.combine import Entry
from workbench.graders.serialization import limit_imported, parts
from workbench.report.certificate import Certificate
from workbench.run.suite import Suite


def number_for(on_error: str | float, chosen: Format) -> float | None:
    """The number for unscored rows; None to raise.

    Raises:
        ValueError: Neither "raise" nor a finite number, or the format can represent a missing score.
    """
    if on_error == "raise":
        return None
    if not is_number(on_error):
        raise ValueError(f"on_error must be 'raise' or a finite number, not {on_error!r}")
    if chosen.words:
        raise ValueError(f"on_error does not apply to {chosen.name}, which can represent a missing score")
    return float(on_error)


def reference_for(column: str, chosen: Format) -> str:
    """The column of the references, if the format uses it.

    Raises:
        TypeError: Not text.
        ValueError: The format's files contain no code.
    """
    if not isinstance(column, str):
        raise TypeError(f"reference is the name of a column, not {type(column).__name__}")
    if column and not isinstance(chosen, Target):
        raise ValueError(
            f"reference does not apply to {chosen.name}, only to trainers and evaluators that take a file of code"
        )
    return column


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


def save(
    graders: Graders,
    path: str | os.PathLike[str],
    *,
    allow_unvalidated: bool = False,
    certificate: Certificate | None = None,
) -> Path:
    """Write graders to a native JSON file: like `export(graders, path, "native")`, but returns the path.

    Args:
        graders: One grader or entry, a list of them, or a `Suite`.
        path: The file; its folder must exist.
        allow_unvalidated: Write graders that are not validated, marked as such.
        certificate: Evidence about them, from `workbench.certificate`, to write with them. A certificate loaded
            with a suite is written again as long as all of it is valid.

    Raises:
        NotValidatedError: A grader is not validated; nothing is written.
        FormatError: A file of another kind exists there, the folder is missing or not writable, or the certificate
            is not valid for these graders.
    """
    settings: dict[str, Any] = {"allow_unvalidated": allow_unvalidated, "certificate": certificate}
    return export(graders, path, **settings).paths[0]


def dumps(
    graders: Graders, *, allow_unvalidated: bool = False, certificate: Certificate | None = None
) -> str:
    """The text that `save` writes, and `loads` reads. See `save`.

    Raises:
        NotValidatedError: A grader is not validated.
    """
    return native.write(graders, allow_unvalidated=allow_unvalidated, certificate=certificate)


def load(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    trust: bool = False,
    release: str = "",
) -> Suite:
    """Read graders from a file of any platform. Nothing in it is executed.

    Its sources count as *imported*: they run only with kernel confinement unless `trust` is set, and get at most
    60 s per row and 2,048 MiB; a warning reports a limit that was reduced. A printed note names each rubric
    placeholder such as `{input}` that its release does not substitute, and each part of a certificate that is no
    longer valid (`suite.certificate`).

    Args:
        path: The file.
        format: Its platform, as `workbench formats` lists them; detected by default.
        trust: Run these sources even if the machine cannot confine them. Read them first.
        release: Release of the platform whose rules apply, such as "0.17" for Letta; by default the release that
            the reader implements, or a later one that the document requires.

    Returns:
        A `Suite`, also for one grader: then `load(path).grader` is that grader.

    Raises:
        FormatError: Missing, too large, unreadable, of an unknown platform, or tampered with; names the file and
            the path inside the document.
    """
    reading, chosen = _opened(path, format, trust=trust, release=release)
    return _with_printed_notes(_read(reading, chosen))


def load_with_notes(path: str | os.PathLike[str]) -> tuple[Suite, list[str]]:
    """As `load`, with its notes returned instead of printed, for a view that shows them.

    Raises:
        FormatError: As `load`.
    """
    suite = _read(*_opened(path))
    return suite, _notes(suite)


def _notes(suite: Suite) -> list[str]:
    """What the user should know about a suite that was read, a sentence each."""
    broken = [f"the certificate is no longer valid: {part}" for part in _broken(suite)]
    return [*map(str, cautions(suite)), *broken]


def _with_printed_notes(suite: Suite) -> Suite:
    """The suite; prints what the user should know about it."""
    for note in _notes(suite):
        print(visible(f"note: {note}"))  # noqa: T201 (like notes of a run: nothing else shows them)
    return suite


def _broken(suite: Suite) -> tuple[str, ...]:
    """The parts of the suite's certificate that are no longer valid."""
    return () if suite.certificate is None else suite.certificate.check(suite)


def _opened(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    trust: bool = False,
    release: str = "",
) -> tuple[Reading, str | None]:
    target = Path(path)
    return Reading(read_text(target, stdin=True), str(target), target.parent, trust, release), format


def loads(
    text: str | Mapping[str, Any] | list[Any],
    format: str | None = None,  # noqa: A002
    *,
    where: str = "text",
    trust: bool = False,
    release: str = "",
) -> Suite:
    """Read graders from a text, such as a platform's JSON pasted into a cell, or from the parsed object. See `load`.

    Raises:
        FormatError: As `load`.
        TypeError: Neither text nor a dict or list.
    """
    # As text, so that an object that was parsed elsewhere gets the same checks as a file.
    if isinstance(text, Mapping | list):
        text = to_json(text)
    if not isinstance(text, str):
        raise TypeError(
            f"loads takes text, a dict or a list, not {type(text).__name__}; for a file: load(path)"
        )
    return _with_printed_notes(
        _read(Reading(text.removeprefix("\ufeff"), where, None, trust, release), format)
    )


def _read(reading: Reading, name: str | None) -> Suite:
    if (code := notebook_text(reading.text)) is not None:
        reading = replace(reading, text=code)
    chosen = detect(reading.text, reading.where) if name is None else get_format(name)
    if reading.release and not chosen.releases:
        raise FormatError(
            f"the format {chosen.name!r} has no releases", where=reading.where, found=reading.release
        )
    try:
        suite = chosen.read(reading)
    except FormatError as error:
        if error.where:
            raise
        raise FormatError(
            error.what, where=reading.where, found=error.found, expected=error.expected, hint=error.hint
        ) from error
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        # A malformed file can make a reader fail in unforeseen ways: that error, too, names the file.
        problem = f"this {chosen.name} document cannot be read"
        raise FormatError(problem, where=reading.where, found=str(error)[:300]) from error
    # Here for all formats, so that no reader can forget to reduce the limits that an untrusted file requests.
    for grader in suite.graders:
        limit_imported(grader)
    return suite


def export(  # noqa: PLR0913 (users set these by name)
    graders: Graders,
    path: str | os.PathLike[str],
    format: str = "native",  # noqa: A002
    *,
    on_loss: str = "refuse",
    on_error: str | float = "raise",
    reference: str = "",
    allow_unvalidated: bool = False,
    certificate: Certificate | None = None,
) -> Converted:
    """Write graders as a platform's file, atomically: the old file remains until the new one is complete.

    Args:
        graders: One grader or entry, a list of them, or a `Suite`.
        path: The main file; companions, such as `graders.py`, are written to the same folder.
        format: As `workbench formats` lists them.
        on_loss: "refuse": raise an error for an unsupported setting, with grader, field and hint. "report": drop
            it and write what was dropped to `<path>.losses.json`.
        on_error: What an unscored row becomes on a target that cannot represent a missing score (verl, slime,
            OpenRLHF, Gemini, Nova): "raise", or a number.
        reference: The column with the references, if its name is not a usual one (`reference`, `expected`,
            `ground_truth`, `label`, `answer`). Files for trainers and evaluators look for the reference there
            first; trainers that pass a label without its column name pass it under this name too.
        allow_unvalidated: Write graders that are not validated.
        certificate: As in `save`; a format that cannot contain it omits it with a note.

    Raises:
        NotValidatedError: A grader is not validated; nothing is written.
        FormatError: An unsupported setting, an unknown format, a folder that is not writable, or a certificate
            that is not valid for these graders.
    """
    check_on_loss(on_loss)
    suite = as_suite(graders)
    if not allow_unvalidated:
        require_all_validated(suite)
    check_target(Path(path), get_format(format))
    document, losses = render(
        suite, Path(path).name, format, on_loss=on_loss, on_error=on_error, reference=reference, certificate=certificate
    )  # fmt: skip
    return write_document(Path(path), document, losses)


def convert(  # noqa: PLR0913 (users set these by name)
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    to: str,
    *,
    on_loss: str = "refuse",
    on_error: str | float = "raise",
    reference: str = "",
    allow_unvalidated: bool = False,
    samples: Any = None,
    **reading: Any,
) -> Converted:
    """Convert one platform's file to another's. Its sources are validated in the sandbox before they are written.

    Args:
        source: The file to read.
        target: The file to write.
        to: Its platform.
        on_loss: See `export`.
        on_error: See `export`.
        reference: See `export`; by default that of `source`, if it is a file of a trainer or evaluator.
        allow_unvalidated: Write sources that do not pass validation.
        samples: Rows to validate the sources on, as `read_samples` returns them, for graders that read
            columns the mock row lacks; the first five are used.
        reading: `format`, `trust` and `release` of `load`; the platform of `source` is detected by default.

    Raises:
        FormatError: As `load` and `export`, or `target` is `source`; nothing is written then.
        NotValidatedError: A source is not validated; nothing is written.
    """
    # First, so that an unknown target is reported before anything is read or run.
    get_format(to)
    # By `samefile` and not by name: links and other spellings can refer to the same file.
    if Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise FormatError(
            "the file to write is the file to read", where=str(target), hint="write to another name"
        )
    read, chosen = _opened(source, **reading)
    suite = _read(read, chosen)
    if not reference and isinstance(get_format(to), Target):
        reference = named_reference(read.text)
    if not allow_unvalidated:
        prove(suite, samples)
    try:
        written = export(
            suite, target, to, on_loss=on_loss, on_error=on_error, reference=reference,
            allow_unvalidated=allow_unvalidated,
        )  # fmt: skip
    except NotValidatedError as error:
        hint = error.hint if samples is not None else f"{error.hint}; {_ON_ROWS}"
        raise NotValidatedError(error.what, where=str(source), found=error.found, hint=hint) from error
    broken = [Loss("", "certificate", f"no longer valid, omitted: {part}") for part in _broken(suite)]
    return replace(written, notes=(*read.notes, *cautions(suite), *broken, *written.notes))


_ON_ROWS = (
    "validate graders that read columns of your rows on some of them: convert(..., samples=...), or --samples FILE "
    "in the shell; --allow-unvalidated is the last resort"
)


def prove(suite: Suite, samples: Any = None) -> None:
    """Validate every grader of a suite that was not validated, on the user's rows if there are any."""
    rows = None if samples is None else first_rows(samples)
    for grader in suite.graders:
        for part in parts(grader):
            # With rows of the user all are validated again: the record may be for the mock row only.
            if hasattr(part, "require_validated") and (
                rows is not None or not getattr(part, "validation", None)
            ):
                part.validate(rows)  # type: ignore[attr-defined]


def first_rows(samples: Any) -> list[Sample]:
    """At most the first five rows."""
    data = as_samples(samples)
    return [data[at] for at in range(min(len(data), 5))]
