"""A platform's format: its name, reader, writer and what it does not support.

To add one, write a module with `read(reading) -> Suite` and `write(suite, losses) -> Document`, and
register it: `register(Format("name", ...))`. Reading executes nothing. Writers report unsupported settings to
`losses`, which raises an error with grader, field and hint, or, on request, records what was dropped.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.core.files import STANDARD_INPUT, read_bytes, standard_input
from workbench.graders.serialization import parts
from workbench.report.certificate import Certificate
from workbench.run.suite import Suite

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Largest grader file read: 200 graders of the largest source allowed fit."""

MAX_EXPORT_BYTES = 256 * 1024 * 1024
"""Largest JSON object read that the user named: an export with graders and 100,000 graded completions has about 50 MiB."""


@dataclass(frozen=True)
class Loss:
    """One setting that a platform does not support.

    Attributes:
        grader: The grader's name; "" for the suite.
        field: Its field, or another short name for the subject.
        what: Why it is not supported.
        hint: What to do instead.
        instead: What was written instead; "" if it was omitted.
    """

    grader: str
    field: str
    what: str
    hint: str = ""
    instead: str = ""

    def __str__(self) -> str:
        owner = f"grader {self.grader!r}" if self.grader else "the suite"
        sentence = f"{owner}, {self.field}: {self.what}" + (f" ({self.hint})" if self.hint else "")
        return sentence + (f"; written instead: {self.instead}" if self.instead else "")


_ON_REQUEST = 'on_loss="report" drops it and reports the loss'
_REPLACED = 'on_loss="report" writes {} instead and reports the loss'


class Losses:
    """Collects what a platform does not support, reported by its writer.

    Args:
        platform: Its name, for messages.
        refuse: Whether the first loss is an error; otherwise losses are collected.
        stem: Name of the main file without its ending: companions are named after it.
        on_error: The number written for an unscored row, on a target that cannot represent a missing score;
            None to raise there.
        reference: The column with the references, for targets; "" for the usual names.
        certificate: The certificate to write with the graders, for formats that support one.
    """

    def __init__(
        self,
        platform: str,
        *,
        refuse: bool = True,
        stem: str = "",
        on_error: float | None = None,
        reference: str = "",
        certificate: Certificate | None = None,
    ) -> None:
        self.platform = platform
        self.refuse = refuse
        self.stem = stem
        self.on_error = on_error
        self.reference = reference
        self.certificate = certificate
        self.found: list[Loss] = []
        self.notes: list[Loss] = []

    def add(self, grader: str, field: str, problem: str, *, hint: str = "", instead: str = "") -> None:
        """Report a loss, and what is written instead, if anything.

        Raises:
            FormatError: `refuse` is set.
        """
        loss = Loss(grader, field, problem, hint, instead)
        if self.refuse:
            owner = f"grader {grader!r}, {field}" if grader else f"the suite, {field}"
            raise FormatError(
                f"{self.platform} does not support this: {problem}",
                where=owner,
                hint="; ".join(
                    filter(None, [hint, _ON_REQUEST if not instead else _REPLACED.format(instead)])
                ),
            )
        if loss not in self.found:
            self.found.append(loss)

    def note(self, grader: str, field: str, remark: str) -> None:
        """Report an omission that changes no score, such as a title: never an error."""
        note = Loss(grader, field, remark)
        if note not in self.notes:
            self.notes.append(note)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


@dataclass(frozen=True)
class Document:
    """Output of a writer.

    Attributes:
        text: The main file.
        files: Companion files for the same folder, by plain relative name, such as `graders.py`.
    """

    text: str
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """Input of a reader.

    Attributes:
        text: The main file.
        where: Its name, for messages.
        folder: Its folder; None if only the text is known.
        trust: Whether its sources may run unconfined.
        release: The platform's release whose rules apply, such as "0.17"; "" for the release that the reader
            implements, or the one that the document requires.
        notes: Parts of the document that a suite cannot represent, such as Letta's `target`.
    """

    text: str
    where: str = "text"
    folder: Path | None = None
    trust: bool = False
    release: str = ""
    notes: list[Loss] = field(default_factory=list)

    def note(self, node_path: str, remark: str) -> None:
        """Report a part of the document that was read and dropped."""
        self.notes.append(Loss("", node_path, remark))

    def companion(self, name: str, where: str) -> str:
        """The text of a file in the document's folder, such as a rubric.

        Args:
            name: A relative path that does not leave the folder.
            where: The path in this document that names it.

        Raises:
            FormatError: Outside the folder, missing, too large, or not text.
        """
        if self.folder is None:
            raise FormatError(
                "the document names another file, but only its text was given", where=where, found=name[:200],
                hint="load it from its folder: workbench.load(path)",
            )  # fmt: skip
        path = inside(self.folder, name, where)
        if not _is_file(path):
            raise FormatError(
                "the document names a file that does not exist", where=where, found=name[:200],
                expected=f"a file of that name in {_folder_name(self.folder)}", hint=_file_hint(path),
            )  # fmt: skip
        return read_text(path, where)


def inside(folder: Path, name: str, where: str) -> Path:
    """A path under a folder.

    Raises:
        FormatError: It would leave the folder: an absolute path, `..`, or a link that points outside.
    """
    # Only Windows treats a backslash as a separator, but a document gets the same result everywhere.
    plain = PurePosixPath(name.replace("\\", "/"))
    target = folder / plain
    if plain.is_absolute() or ".." in plain.parts or not _lies_in(target, folder):
        raise FormatError(
            "the file is outside the document's folder", where=where, found=name[:200],
            hint="put it in the document's folder and name it there",
        )  # fmt: skip
    return target


def _folder_name(folder: Path) -> str:
    return "this folder" if str(folder) == "." else str(folder)


def _file_hint(path: Path) -> str:
    """What to do about a missing file: the most similar name in the folder, if there is one."""
    try:
        names = [neighbour.name for neighbour in path.parent.iterdir() if neighbour.is_file()]
    except OSError:
        names = []
    near = difflib.get_close_matches(path.name, names, n=1)
    return (
        f"did you mean {near[0]!r}?"
        if near
        else "put the file into that folder, or fix its name in the document"
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long
        return False


def _lies_in(target: Path, folder: Path) -> bool:
    try:
        return target.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # too long, a null character, a ring of links
        return False


def _size_limit(path: Path) -> int:
    """The maximum bytes of a file that the user named: more for a JSON object, which may contain a run's completions."""
    try:
        is_object = path.suffix.lower() == ".json" and read_bytes(path, FormatError, 16).lstrip()[:1] == b"{"
    except (FormatError, OSError, ValueError):
        is_object = False  # reported when it is read
    return MAX_EXPORT_BYTES if is_object else MAX_FILE_BYTES


def read_text(path: Path, where: str = "", *, stdin: bool = False) -> str:
    """A file's text, read with a size limit.

    Args:
        path: The file.
        where: For error messages.
        stdin: Whether the user, not a document, named it: then `-` is standard input, and a past run's export may be large.

    Raises:
        FormatError: It cannot be read, is too large, or is not UTF-8.
    """
    place = where or str(path)
    most = _size_limit(path) if stdin else MAX_FILE_BYTES
    try:
        # One byte more than allowed is enough to detect "too large".
        is_stdin = stdin and str(path) == STANDARD_INPUT
        data = standard_input(FormatError, most + 1) if is_stdin else read_bytes(path, FormatError, most + 1)
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FormatError(
            "the file cannot be read", where=place, found=f"{path.name or path}: {reason}"
        ) from error
    if len(data) > most:
        raise FormatError("the file is too large", where=place, expected=f"at most {most // 2**20} MiB")
    try:
        # Some editors begin a file with a byte order mark, which JSON's parser refuses.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("the file is not UTF-8 text", where=f"{place}, byte {error.start}") from error


@dataclass(frozen=True)
class Format:
    """A platform's format.

    Attributes:
        name: As users type it.
        title: One-line description.
        suffix: Of its files, such as ".json".
        read: A `Reading` to a `Suite`. Executes nothing.
        write: A `Suite` and `Losses` to a `Document`.
        detect: Confidence that a parsed document is of this format: 0 no, 1 possible, 2 certain. Gets the parsed
            JSON or YAML (None if it is neither), and the text.
        variants: Other writers by the ending of the file to write.
        failed_is_zero: Whether the platform counts a failed grader as 0.0; suites read from it do so, too.
        handwritten: Whether such files are usually written by hand: they are never overwritten.
        releases: Whether the reader supports `release`.
        takes_certificate: Whether its files can contain a certificate.
        example: A small document with at least one grader, which the tests over all formats read.
        words: Whether it can represent a missing score, so that `on_error` does not apply.
        companions: The companion files of an exported main file that cannot carry the mark, by name: gets the main
            file's text and its name without the ending.
        label: Short title for a table header; by default the title up to its first blank.
    """

    name: str
    title: str
    suffix: str
    read: Callable[[Reading], Suite]
    write: Callable[[Suite, Losses], Document]
    detect: Callable[[Any, str], int]
    variants: Mapping[str, Callable[[Suite, Losses], Document]] = field(default_factory=dict)
    releases: bool = False
    failed_is_zero: bool = False
    handwritten: bool = False
    takes_certificate: bool = False
    example: str = ""
    words: bool = True
    companions: Callable[[str, str], Mapping[str, str]] = lambda *_: {}
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.title.split()[0])


FORMATS: dict[str, Format] = {}
"""Every format by its name."""


def register(format: Format) -> Format:  # noqa: A002 (the field's term)
    """Register a format.

    Raises:
        ValueError: Its name is taken.
    """
    if format.name in FORMATS:
        raise ValueError(f"format {format.name!r} is already registered")
    FORMATS[format.name] = format
    return format


def get_format(name: str) -> Format:
    """A format by its name.

    Raises:
        FormatError: Unknown name; the error lists the known ones.
    """
    if name not in FORMATS:
        raise FormatError(
            "unknown format", found=repr(name)[:80], expected=", ".join(sorted(FORMATS)),
            hint=did_you_mean(str(name), FORMATS),
        )  # fmt: skip
    return FORMATS[name]


def require_all_validated(suite: Suite) -> None:
    """Refuse graders that need validation and are not validated.

    Raises:
        NotValidatedError: Names the grader and the check.
    """
    for grader in suite.graders:
        for part in parts(grader):
            if hasattr(part, "require_validated"):
                part.require_validated()
