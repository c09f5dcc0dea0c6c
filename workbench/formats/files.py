"""Files of graders: read with a limit, written whole or not at all, from and to any platform."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.certificates import Certificate
from workbench.display_text import visible
from workbench.errors import FormatError, NotValidatedError
from workbench.formats.platforms.native import read_write as native
from workbench.formats.rendering import Graders, check_on_loss, render
from workbench.formats.shared.base import (
    Loss,
    Reading,
    get_format,
    read_text,
    require_proofs,
)
from workbench.formats.shared.detection import detect
from workbench.formats.shared.parsing import to_json
from workbench.formats.shared.writing import Converted, check_target, write_document
from workbench.formats.targets.base import Target
from workbench.formats.targets.options import named_reference
from workbench.samples import Sample, as_samples
from workbench.serialization import limit_imported, parts
from workbench.suite import Suite

__all__ = ["Converted", "check_target", "convert", "detect", "dumps", "export", "load", "loads", "save"]


def save(
    graders: Graders,
    path: str | os.PathLike[str],
    *,
    allow_unvalidated: bool = False,
    certificate: Certificate | None = None,
) -> Path:
    """Write graders to a native JSON file: `export(graders, path, "native")`, with the path as the answer.

    Args:
        graders: One grader or entry, a list of them, or a `Suite`.
        path: The file; its folder must exist.
        allow_unvalidated: Write graders that have not passed their checks, marked as such.
        certificate: What was proven of them, from `workbench.certificate`, to travel along. One that came with a loaded
            suite is kept as long as all of it holds.

    Raises:
        NotValidatedError: A grader is not validated; nothing is written.
        FormatError: A file of another kind is in the way, the folder is missing or cannot be written, or the certificate
            does not hold for these graders.
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

    Sources in it count as *imported*: they run only where the kernel confines them, unless `trust` is given, and
    ask for at most 60 s a row and 2,048 MiB; a limit that is cut is told in a warning. A rubric with a place such as
    `{input}` that its release's rules do not fill is told in a printed note, and so is each part of a certificate that
    no longer holds (`suite.certificate`).

    Args:
        path: The file.
        format: Its platform, as `workbench formats` lists them; found out by default.
        trust: Run these sources even where the machine cannot confine them. Read them first.
        release: Release of the platform whose rules apply, such as "0.17" for Letta; by default the release that
            the seed document of our reader describes, or a later one the file shows it needs.

    Returns:
        A `Suite`, also of one grader: then `load(path).grader` is it.

    Raises:
        FormatError: Missing, too large, unreadable, of no known platform, tampered with; file and place in
            the document are named.
    """
    return _with_printed_notes(_read(*_opened(path, format, trust=trust, release=release)))


def _with_printed_notes(suite: Suite) -> Suite:
    """The suite, with what a person should know of it printed."""
    broken = [f"the certificate no longer holds: {part}" for part in _broken(suite)]
    for note in [*map(str, _cautions(suite)), *broken]:
        print(visible(f"note: {note}"))  # noqa: T201 (as notes of a run: nothing else shows them)
    return suite


_FILLING = 'from release 0.17 on Letta fills them in: release="0.17" where the file is of such a release'


def _cautions(suite: Suite) -> list[Loss]:
    """What reads as if it did something and does not."""
    judges = {judge.name: judge for grader in suite.graders for judge in parts(grader)}
    holes = {name: getattr(judge, "unfilled_placeholders", ()) for name, judge in judges.items()}
    effect = (
        "reaches the judge as it stands: the rules of this release fill nothing in there, and question, expected "
        "answer and submission follow the rubric in sections of their own"
    )
    return [
        Loss(name, "prompt", f"{', '.join(names)} {effect}", _FILLING)
        for name, names in holes.items()
        if names
    ]


def _broken(suite: Suite) -> tuple[str, ...]:
    """What no longer holds of the certificate that came with a suite."""
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
    """Graders out of a text, such as a platform's JSON pasted into a cell, or out of the parsed object. See `load`.

    Raises:
        FormatError: As `load`.
        TypeError: Neither text nor a dict or list.
    """
    # Through text, so that an object that was parsed elsewhere meets the same checks as a file.
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
        # A stranger's file can break a reader in ways it did not foresee: that, too, names the file.
        problem = f"this {chosen.name} document cannot be read"
        raise FormatError(problem, where=reading.where, found=str(error)[:300]) from error
    # Once for all formats: no reader can forget to cut the limits that a stranger's file asks for.
    for grader in suite.graders:
        limit_imported(grader)
    return suite


def export(  # noqa: PLR0913 (people write these settings by their names)
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
    """Write graders as a platform's file, atomically: the old file stays until the new one is whole.

    Args:
        graders: One grader or entry, a list of them, or a `Suite`.
        path: The main file; companions, such as `graders.py`, are written beside it.
        format: As `workbench formats` lists them.
        on_loss: "refuse" what the platform cannot say, naming grader, field and way out; or "report": drop
            it and write what was dropped to `<path>.losses.json`.
        on_error: What a row without a score becomes on a target that has no word for one (verl, slime, OpenRLHF,
            Gemini, Nova): "raise" there, or a number that stands for it.
        reference: The column that the references stand in, where its name is none of the usual ones (reference, expected,
            ground_truth, label, answer): files for trainers and evaluators look for the reference there first, and
            trainers that pass a label without its column's name pass it under this one too.
        allow_unvalidated: Write graders that have not passed their checks.
        certificate: As in `save`; a format without a place for it leaves it out, which a note says.

    Raises:
        NotValidatedError: A grader is not validated; nothing is written.
        FormatError: What the platform cannot say, an unknown format, a folder that cannot be written, or a certificate
            that does not hold for these graders.
    """
    check_on_loss(on_loss)
    suite = native.as_suite(graders)
    if not allow_unvalidated:
        require_proofs(suite)
    check_target(Path(path), get_format(format))
    document, losses = render(
        suite, Path(path).name, format, on_loss=on_loss, on_error=on_error, reference=reference, certificate=certificate
    )  # fmt: skip
    return write_document(Path(path), document, losses)


def convert(  # noqa: PLR0913 (people write these settings by their names)
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
    """One platform's file as another's. Sources in it are proved in the sandbox before they are written.

    Args:
        source: The file to read.
        target: The file to write.
        to: Its platform.
        on_loss: See `export`.
        on_error: See `export`.
        reference: See `export`; by default that of `source`, where it is a file of a trainer or evaluator.
        allow_unvalidated: Write sources that do not pass their checks.
        samples: Rows of your own to prove the sources on, as `read_samples` gives them, for graders that read
            columns the mock row lacks; the first five are tried.
        reading: `format`, `trust` and `release` of `load`; the platform of `source` is found out by default.

    Raises:
        FormatError: As `load` and `export`, or `target` is `source`; nothing is written then.
        NotValidatedError: A source does not pass its checks; nothing is written.
    """
    # First of all: an unknown target is told before anything is read or run.
    get_format(to)
    # By `samefile` and not by name: links and other spellings of a path lead to the same file.
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
    broken = [Loss("", "certificate", f"no longer holds and is left out: {part}") for part in _broken(suite)]
    return replace(written, notes=(*read.notes, *_cautions(suite), *broken, *written.notes))


_ON_ROWS = (
    "graders that read columns of your rows are proved on some: convert(..., samples=...), or --samples FILE "
    "in the shell, where --allow-unvalidated is the last resort"
)


def prove(suite: Suite, samples: Any = None) -> None:
    """Validate every grader of a suite that can be and was not, on rows of the user's own where there are any."""
    rows = None if samples is None else first_rows(samples)
    for grader in suite.graders:
        for part in parts(grader):
            # With rows of the user's own all are proved again: a proof may be of the mock row alone.
            if hasattr(part, "require_proof") and (rows is not None or not getattr(part, "validation", None)):
                part.validate(rows)  # type: ignore[attr-defined]


def first_rows(samples: Any) -> list[Sample]:
    """The first five rows, or all where there are fewer."""
    data = as_samples(samples)
    return [data[at] for at in range(min(len(data), 5))]
