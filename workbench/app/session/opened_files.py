"""Files that a user opens in the app: received in pieces, read as by `workbench open`, their use undone on request.

Nothing in them runs. A file that cannot be read changes nothing.
"""

from __future__ import annotations

import base64
import binascii
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.app.session.columns import NO_COMPLETION, readable
from workbench.app.session.extended_rows import extended
from workbench.core.display_text import counted, one_line
from workbench.core.errors import FormatError, SamplesWarning, WorkbenchError
from workbench.data.samples import Samples
from workbench.data.samples.file_types import load_file
from workbench.formats.file_contents import (
    BASELINE,
    DATABASE,
    SAVED_REPORT,
    FileContents,
    check_not_empty,
    read_contents,
    saved_kind,
)
from workbench.formats.files import load_with_notes
from workbench.graders.combine import Entry
from workbench.run.suite import Suite

MAX_BYTES = 100_000_000
"""Maximum bytes of the files that are opened together: they pass through the kernel's comm channel and its memory."""

MAX_FILES = 50
"""Maximum number of files that are opened together."""

_MAX_UPLOADS = 4
"""Maximum number of pages that send files at the same time."""

_COMPARED = 4_000_000
"""Bytes of a file that are searched for the names of other files."""

_ELSEWHERE = {
    SAVED_REPORT: "wb.read_report({name!r})",
    BASELINE: "workbench check GRADERS ROWS --baseline {name}",
    DATABASE: "wb.open_store({name!r})",
}
"""Kind of a file that the app does not open to what opens it."""


@dataclass(frozen=True)
class OpenedFile:
    """What became of one file.

    Attributes:
        name: Its name.
        sentence: What it was taken for, in one line.
        notes: What was read and left, a sentence each.
        problem: Why it cannot be used; "" if it can.
    """

    name: str
    sentence: str
    notes: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Opening:
    """Files that were opened together.

    Attributes:
        files: What became of each.
        entries: Their graders.
        readable: Names of the files whose graders were read.
        rows: Their rows, which wait for the user to use them; None without.
        unmapped: Why the columns of the rows must be mapped first; "" if they are.
        used: How the rows were used: "replace" or "extend"; "" if they wait.
    """

    files: tuple[OpenedFile, ...]
    entries: tuple[Entry, ...] = ()
    readable: tuple[str, ...] = ()
    rows: Samples | None = None
    unmapped: str = ""
    used: str = ""


@dataclass
class OpenedChange:
    """What an opening changed, so that it can be undone.

    Attributes:
        graders: Names of the graders that it added.
        before: The `Session` before its rows were used; None if none were.
    """

    graders: tuple[str, ...] = ()
    before: Any = None


@dataclass
class _Upload:
    folder: tempfile.TemporaryDirectory[str]
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return Path(self.folder.name)


class OpenedFiles(HasTraits):
    """The files that were opened in an app. A session that continues another one takes it over.

    Traits (observe them):
        opening: The last `Opening`; None for none, or after it was dismissed.
        reading: Names of the files that are being read; "" for none.
        changes: What openings changed, the oldest first.
    """

    opening = AnyTrait(None)
    reading = AnyTrait("")
    changes: Any = AnyTrait(())

    def __init__(self) -> None:
        super().__init__()
        self._uploads: dict[str, _Upload] = {}
        self._reads = threading.Lock()  # two pages may open files at the same time

    def receive(self, upload: str, name: str, start: int, data: str) -> int:
        """Take a piece of a file; the bytes of it that are here now.

        Args:
            upload: Identifies the files that are opened together.
            name: The file's name.
            start: Where the piece starts.
            data: The piece, in base64.

        Raises:
            FormatError: The piece does not continue the file, or the files are too large.
        """
        parts, file = self._upload(upload), safe_name(name)
        try:
            piece = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise FormatError("the piece of the file is damaged", where=file) from None
        if start != parts.sizes.get(file, 0):
            raise FormatError("the pieces of the file are not in order", where=file, found=f"{start:,}")
        if sum(parts.sizes.values()) + len(piece) > MAX_BYTES or len({*parts.sizes, file}) > MAX_FILES:
            self._drop(upload)
            raise _too_large(file, None)
        with (parts.path / file).open("ab") as out:
            out.write(piece)
        parts.sizes[file] = start + len(piece)
        return parts.sizes[file]

    def _upload(self, upload: str) -> _Upload:
        if upload not in self._uploads:
            while len(self._uploads) >= _MAX_UPLOADS:  # pages that were closed while they sent
                self._drop(next(iter(self._uploads)))
            self._uploads[upload] = _Upload(tempfile.TemporaryDirectory(prefix="workbench-opened-"))
        return self._uploads[upload]

    def read(self, upload: str, files: Sequence[Mapping[str, Any]]) -> Opening:
        """Read what was received; a bad file does not affect the others. Called without the session's lock.

        Args:
            upload: As in `receive`.
            files: Name and size of each file, and the browser's problem with it.
        """
        parts = self._upload(upload)
        with self._reads:
            try:
                return _opening(parts, names_of(files))
            finally:
                self._drop(upload)

    def cancel(self, upload: str) -> None:
        """Drop what was received of files that are no longer wanted."""
        self._drop(upload)

    def _drop(self, upload: str) -> None:
        if parts := self._uploads.pop(upload, None):
            parts.folder.cleanup()

    def close(self) -> None:
        """Remove what was received, and end the sessions that an undo would have continued."""
        for upload in list(self._uploads):
            self._drop(upload)
        changes, self.changes = self.changes, ()
        for change in changes:
            if change.before is not None:
                change.before.close()


def names_of(files: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The files by their names in the folder."""
    return {safe_name(str(file.get("name", ""))): file for file in files[:MAX_FILES]}


def safe_name(name: str) -> str:
    """A name for a file in a folder, with the suffix of the given one."""
    plain = "".join(one if one.isprintable() and one not in "/\\" else "_" for one in name)
    plain = plain.encode("utf-8", "replace").decode("utf-8")
    while len(plain.encode("utf-8")) > 200:  # bytes: file systems take at most 255
        plain = plain[len(plain) // 10 + 1 :]
    return plain if plain.strip(". ") else "file"


def _opening(parts: _Upload, given: Mapping[str, Mapping[str, Any]]) -> Opening:
    opening = Opening(())
    suites: dict[str, Suite] = {}
    for name, file in given.items():
        try:
            _check_received(name, file, parts)
            read = _UploadReading(parts.path / name)
        except (WorkbenchError, OSError, ValueError) as error:
            problem = str(error).replace(f"{parts.path}/", "")
            opening = _with_file(
                opening, OpenedFile(name, f"{one_line(name, 80)}: not opened", problem=problem)
            )
            continue
        suites |= {} if read.contents.suite is None else {name: read.contents.suite}
        opening = _with_contents(opening, name, read, str(parts.path))
    return replace(
        opening,
        files=tuple(file for file in opening.files if not _is_part(file, suites, parts.path)),
        entries=tuple(entry for suite in suites.values() for entry in suite.entries),
        readable=tuple(suites),
    )


def _with_file(opening: Opening, file: OpenedFile) -> Opening:
    return replace(opening, files=(*opening.files, file))


class _UploadReading:
    """One file after reading.

    Attributes:
        contents: Its graders and rows.
        notes: Notes of the reader of graders.
        unmapped: Why the columns of the rows must be mapped; "" if they are.
    """

    def __init__(self, path: Path) -> None:
        self.notes: list[str] = []
        self.unmapped, self._has_graders = "", False
        if kind := saved_kind(path):
            way = _ELSEWHERE[kind].format(name=path.name)
            raise FormatError(
                f"this is {kind}, which the app does not open",
                where=path.name,
                expected="graders or rows",
                hint=way,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SamplesWarning)
            self.contents: FileContents = read_contents(path, self._graders, self._rows)

    def _graders(self, path: Path) -> Suite:
        suite, self.notes = load_with_notes(path)
        self._has_graders = True
        return suite

    def _rows(self, path: Path) -> Samples:
        loaded = load_file(path)
        if self._has_graders:  # a document of graders is not a table whose columns a user maps
            return Samples(loaded, source=path.name)
        samples, self.unmapped = readable(loaded, path.name)
        return samples


def _with_contents(opening: Opening, name: str, read: _UploadReading, folder: str) -> Opening:
    """The opening with one more file: rows of several files are joined."""
    contents, rows, unmapped, problem = read.contents, opening.rows, opening.unmapped, ""
    if not contents.kind:
        problem = "; ".join(dict.fromkeys(contents.problems)).replace(f"{folder}/", "")
    elif contents.samples is not None and rows is None:
        rows, unmapped = contents.samples, read.unmapped
    elif contents.samples is not None and rows is not None:
        try:
            rows = extended(rows, contents.samples)
        except WorkbenchError as error:
            problem = str(error)
    notes = tuple(_notes_of(name, read))
    opened = OpenedFile(name, one_line(contents.sentence, 300), notes, problem)
    return replace(_with_file(opening, opened), rows=rows, unmapped=unmapped)


def _notes_of(name: str, read: _UploadReading) -> list[str]:
    """What was read of a file, and what was left, a sentence each."""
    suite, samples, notes = read.contents.suite, read.contents.samples, []
    if suite is not None:
        names = ", ".join(one_line(entry.name, 40) for entry in suite.entries[:5])
        more = f" and {len(suite.entries) - 5:,} more" if len(suite.entries) > 5 else ""
        notes.append(
            f"{counted(len(suite.entries), 'grader')}: {names}{more}; imported: source runs only in a confined sandbox"
        )
        notes += map(one_line, read.notes)
        if not _is_list(suite):
            notes.append("its weights, rule and gate are not imported: the app imports only graders")
    if samples is not None and read.unmapped not in ("", NO_COMPLETION):
        notes.append(
            f"{counted(len(samples), 'row')}; {one_line(read.unmapped, 200)}: you choose the columns next"
        )
    elif samples is not None:
        notes.append(one_line(samples.reading.removeprefix(f"{one_line(name, 80)}: "), 600))
        notes += [one_line(read.unmapped, 200)] if read.unmapped else []
        notes += [one_line(note, 300) for note in samples.notes if not note.startswith("read as ")]
    return notes


def _is_list(suite: Suite) -> bool:
    """Whether the suite consists only of its graders: no weights, rule or gate. Failures count as the app decides."""
    is_plain = all(
        replace(entry, on_error="fail") == Entry(entry.grader, entry.name) for entry in suite.entries
    )
    return is_plain and suite.combine is None and suite.gate is None


def _is_part(file: OpenedFile, suites: Mapping[str, Suite], folder: Path) -> bool:
    """Whether an unreadable file belongs to another one that names it, such as a prompt of a config."""
    return bool(file.problem) and any(
        file.name.encode() in (folder / name).read_bytes()[:_COMPARED] for name in suites if name != file.name
    )


def _check_received(name: str, file: Mapping[str, Any], parts: _Upload) -> None:
    """Check that a file is complete.

    Raises:
        FormatError: It is not, or the browser could not read it, or it is too large.
    """
    size, here = int(file.get("size", 0)), parts.sizes.get(name, 0)
    if problem := str(file.get("problem", "")):
        raise FormatError(
            "the browser cannot read it", where=name, found=one_line(problem, 200), expected="a file, not a folder",
            hint="open the files of the folder",
        )  # fmt: skip
    if size > MAX_BYTES:
        raise _too_large(name, size)
    if not size:
        raise FormatError("the file is empty", where=name, found="0 bytes")
    if here != size:
        raise FormatError(
            "the file is not complete", where=name, found=f"{here:,} of {size:,} bytes", hint="open it again; files that are opened together may have 100 MB"
        )  # fmt: skip
    check_not_empty(parts.path / name)


def _too_large(name: str, size: int | None) -> FormatError:
    return FormatError(
        "the files are too large to open in the app", where=name, found="" if size is None else f"{size / 1e6:,.0f} MB",
        expected=f"at most {MAX_BYTES / 1e6:,.0f} MB together", hint=f"read it in a cell: wb.Workbench({name!r})",
    )  # fmt: skip
