"""The file of a run that can be resumed after a kill: grades are stored during the run, and the report at the end."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ReportError
from workbench.core.files import check_regular, check_writable
from workbench.core.grade import ErrorKind
from workbench.core.grades import FAILED, MISSING, Grades
from workbench.core.user_functions import attempt
from workbench.data.samples import Samples
from workbench.graders.concurrent_rows import concat_grades
from workbench.report import Report
from workbench.report.digests import COMPARED, digest_of_ends
from workbench.report.grades_table import grades_of_record, records
from workbench.report.parquet import read_marks, read_settings, require_own_file, write_report

_SUFFIX = ".unfinished"
_VERSION = 1
_SECONDS, _SHARE = 0.25, 10.0
"""Time between two writes: these seconds, or this multiple of a write's duration, so that little of a run is writing."""
_MARK = "run"
"""Metadata key under which a report's file has its run."""
_AFTER_GRADING = frozenset({"entry.weight", "entry.severity", "entry.on_error", "entry.negate_errors"})
"""Settings of an entry that no grade depends on."""
_LEFT = frozenset(
    map(
        ErrorKind,
        ("cancelled", "pending", "budget", "store", "sandbox", "judge_server", "judge_unreachable", "judge_key", "judge_limit", "endpoint"),
    )
)  # fmt: skip
"""Error kinds that leave a run unfinished: the row was not sent, or a required service was unavailable."""
_GRADED_AGAIN = _LEFT | {ErrorKind.LOAD, ErrorKind.NO_COMPLETION, ErrorKind.SAMPLE}
"""Error kinds whose rows the next run grades again: includes these, since modules and data may have been fixed."""

Part = tuple[str | int, ...]
"""Owner of grades: the grader's name, the repeat, then the names of graders inside it."""
_OF_WHOLE = 2
"""Length of a part that is not a grader inside another."""


class RunFile:
    """The grades of a run in files: `run.parquet` has the report once the run has ended, `run.parquet.unfinished` has grades before.

    The latter is an SQLite database, to which a separate thread adds rows by transaction: whenever a run is killed,
    the rows added before are complete.

    Args:
        path: Of the report.
        samples: The rows.
        fingerprints: Of each grader, by its name: see `workbench.report.digests.fingerprint`.

    Attributes:
        notes: Notes for the user at the end of the run.

    Raises:
        FormatError: The folder is missing or cannot be written.
        ReportError: The files are of another run, of no run, or in use by another process.
    """

    def __init__(
        self, path: str | Path, samples: Samples, fingerprints: Mapping[str, Mapping[str, str]]
    ) -> None:
        self.path = Path(path)
        self.notes: list[str] = []
        self._samples = samples
        self._mark: dict[str, Any] = {
            "version": _VERSION,
            "rows": len(samples),
            "data": digest_of_ends(samples),
            "graders": {name: _of_grades(own) for name, own in sorted(fingerprints.items())},
        }
        self._kept: dict[Part, Grades] = {}
        self._added: dict[Part, NDArray[np.bool_]] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="workbench-run-file")
        self._writing: Future[None] | None = None
        self._next, self._lock = 0.0, threading.Lock()
        self._is_left = False  # whether a failure inside a grader may have been fixed
        check_writable(self.path)
        require_own_file(self.path, samples)
        self._unfinished = self.path.with_name(self.path.name + _SUFFIX)
        for place in (self.path, self._unfinished):
            check_regular(place, ReportError)
        is_new = not self._unfinished.exists()
        self._database = self._connected()
        with ExitStack() as undo:
            undo.callback(self._remove if is_new else self._database.close)
            # The lock first: a run that ends meanwhile would leave this one neither its rows nor its report.
            found = self._mark_or_begin()
            self._read_report()
            if found is not None:
                self._check(found, self._unfinished)
            self._read_unfinished()
            undo.pop_all()

    def _read_report(self) -> None:
        """Read the grades of the report of an earlier run, complete or stopped."""
        if not self.path.exists():
            return
        mark = read_marks(self.path).get(_MARK)
        if mark is not None:
            self._check(mark, self.path)
        fields = read_settings(self.path, self._samples)
        if mark is None:
            # A report of `to_parquet`: its rows were compared by their ids, which are their indices if there are no others.
            if "id" not in self._samples.columns:
                raise ReportError(
                    "the report does not identify its rows", where=str(self.path), found="a file of report.to_parquet(...), and rows without ids",
                    expected="a file of run(..., resume=...), or rows with a column of ids", hint="give resume= another name to grade all rows again",
                )  # fmt: skip
            known = {
                name: _of_grades(fields["fingerprints"].get(name, {}))
                for name in self._mark["graders"]
                if name in fields["grades"]
            }
            self._check({**self._mark, "graders": known}, self.path)
        for name, grades in fields["grades"].items():
            for repeat, one in enumerate(grades.repeats or (grades,)):
                self._keep((name, repeat), one)

    def _connected(self) -> sqlite3.Connection:
        try:  # The writer's thread uses it, and no other thread at the same time.
            return sqlite3.connect(self._unfinished, timeout=0.0, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _mark_or_begin(self) -> dict[str, Any] | None:
        """Lock the database, and return the mark of its run; a new one gets this run's mark, and None is returned."""
        try:
            with self._database as database:
                database.execute("PRAGMA locking_mode = EXCLUSIVE")
                database.execute("BEGIN EXCLUSIVE")  # two runs would grade the same missing rows
                database.execute("CREATE TABLE IF NOT EXISTS run (mark TEXT NOT NULL)")
                database.execute(
                    "CREATE TABLE IF NOT EXISTS grades (part TEXT NOT NULL, words TEXT NOT NULL, rows BLOB NOT NULL)"
                )
                found = database.execute("SELECT mark FROM run").fetchone()
                if found is None:
                    database.execute("INSERT INTO run VALUES (?)", [json.dumps(self._mark)])
            mark: dict[str, Any] | None = None if found is None else json.loads(found[0])
            if mark is not None:
                mark = {field: mark[field] for field in self._mark}
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            raise self._unusable(error) from error
        return mark

    def _unusable(self, error: Exception) -> ReportError:
        if "locked" in str(error):
            return ReportError(
                "file is locked by a running evaluation", where=str(self._unfinished), found="another run",
                expected="one run per file", hint="wait for it, stop it, or give resume= another name",
            )  # fmt: skip
        return ReportError(
            "the grades of an unfinished run cannot be stored or read", where=str(self._unfinished),
            found=str(error) if isinstance(error, sqlite3.Error) else f"a record that cannot be read ({error})",
            expected="a file of run(..., resume=...)", hint="give resume= another name, or remove the file to grade all rows again",
        )  # fmt: skip

    def _check(self, mark: Mapping[str, Any], path: Path) -> None:
        """Refuse the file of another run: its grades and these must not be mixed."""
        if mark["version"] > _VERSION:
            raise ReportError(
                "the unfinished run was written by a newer release", where=str(path), found=f"version {mark['version']}",
                expected=f"at most {_VERSION}",
            )  # fmt: skip
        differences = [
            *_different_graders(mark["graders"], self._mark["graders"]),
            *([] if mark["rows"] == self._mark["rows"] else [f"{mark['rows']:,} rows"]),
            *([] if mark["data"] == self._mark["data"] else ["rows with other contents"]),
        ]
        if differences:
            raise ReportError(
                "the file is of another run", where=str(path), found="; ".join(differences),
                expected=f"{self._mark['rows']:,} rows and unchanged graders",
                hint="give resume= another name, or remove it and the file next to it to grade all rows again",
            )  # fmt: skip

    def _read_unfinished(self) -> None:
        stored: dict[Part, list[tuple[NDArray[np.intp], Grades]]] = {}
        try:
            for part, words, data in self._database.execute("SELECT part, words, rows FROM grades"):
                stored.setdefault(tuple(json.loads(part)), []).append(grades_of_record(words, data))
        except (sqlite3.Error, ValueError, KeyError) as error:  # Arrow's errors are of these, too
            raise self._unusable(error) from error
        for key, parts in stored.items():
            rest = np.ones(len(self._samples), np.bool_)
            for rows, _ in parts:
                rest[rows] = False
            missing = np.flatnonzero(rest)
            earlier = self._kept.get(key, Grades.empty(len(self._samples))).take(missing)
            self._keep(key, concat_grades([(missing, earlier), *parts]))
        for part in list(self._kept):
            if (inside := self._inside(part)) is not None:
                self._keep(part, _without(self._kept[part], ~inside))

    def _keep(self, part: Part, grades: Grades) -> None:
        """Read grades of an earlier run; rows that must be graded again are missing."""
        again = np.zeros(len(grades), np.bool_)
        again[[row for row, error in grades.errors.items() if error.kind in _GRADED_AGAIN]] = True
        grades = _without(grades, again)
        self._kept[part] = replace(grades, repeats=(), reduced="")
        self._added[part] = grades.codes != MISSING

    def _inside(self, part: Part) -> NDArray[np.bool_] | None:
        """Rows for which all graders inside a grader have final grades, (n,); None if there are none inside.

        A failure that may have been fixed can count as a number in the whole: such a whole is not final.
        """
        inside = [
            own for other, own in self._added.items() if len(other) > len(part) and other[: len(part)] == part
        ]
        return np.logical_and.reduce(inside) if inside else None

    def require_repeats(self, repeats: int) -> None:
        """Refuse to resume with fewer repeats than the file has: the report would lack the others.

        Raises:
            ReportError: With the number of repeats.
        """
        of_file = 1 + max((int(repeat) for _, repeat, *_ in self._kept), default=0)
        if of_file > repeats:
            raise ReportError(
                "the file has more repeats than this run", where=str(self.path), found=f"repeats={repeats}", expected=f"repeats={of_file} or more",
                hint="give resume= another name for a run with fewer",
            )  # fmt: skip

    def kept_note(self, kept: int, planned: int) -> str:
        """A note on the existing grades: how many of all, and how far their rows were compared."""
        said = f"{kept:,} of {planned:,} grades were in {self.path}: these rows were not graded again."
        if len(self._samples) <= COMPARED:
            return said
        return (
            f"{said} Only the first 1,000 and the last 100 rows were compared with those of the earlier run."
        )

    @property
    def goes_on(self) -> str:
        """The note at the end of a run with remaining rows."""
        return f"Rerun with resume={str(self.path)!r} to continue."

    def of(self, grader: str, repeat: int) -> SavedGrades:
        """The grades of one pass of a grader."""
        return SavedGrades(self, (grader, repeat))

    def kept(self, part: Part) -> Grades | None:
        """The grades of earlier runs, in the samples' order; rows to be graded are missing. None if there are none."""
        return self._kept.get(part)

    def add(
        self,
        part: Part,
        rows: NDArray[np.intp] | None,
        grades: Grades,
        apply: Callable[[Grades], Grades],
        without: Callable[[], Mapping[int, object]],
        *,
        final: bool,
    ) -> None:
        """Add new grades, on the writer's thread; see `Checkpoint.add`.

        Args:
            part: Their owner.
            rows: The grades' rows among all (m,); None for all.
            grades: All so far (m,).
            apply: Converts grades before they are stored.
            without: Rows that are not stored.
            final: The grades will not change: see `Checkpoint.add`.
        """
        with self._lock:
            is_busy = self._writing is not None and not self._writing.done()
            if not final and (is_busy or time.monotonic() < self._next):
                return
            added = self._added.setdefault(part, np.zeros(len(self._samples), np.bool_))
            is_new = grades.codes != MISSING
            is_new &= ~(added if rows is None else added[rows])
            failed = np.flatnonzero(grades.codes == FAILED).tolist()
            is_new[[row for row in failed if grades.errors[row].kind in _GRADED_AGAIN]] = False
            is_new[list(without())] = False
            if (inside := self._inside(part)) is not None:
                is_new &= inside if rows is None else inside[rows]
            if final and len(part) > _OF_WHOLE:
                self._is_left |= any(error.kind in _LEFT for error in grades.errors.values())
            new = np.flatnonzero(is_new)
            if not len(new) and not final:  # the last call stores information about the whole run
                return
            numbers = new if rows is None else rows[new]
            added[numbers] = True
            taken = grades.take(new) if final else apply(grades.take(new))
            self._writing = self._writer.submit(self._write, part, numbers, taken)
            self._writing.add_done_callback(self._note_failure)

    def _write(self, part: Part, rows: NDArray[np.intp], grades: Grades) -> None:
        begun = time.monotonic()
        try:
            with self._database as database:
                database.executemany(
                    "INSERT INTO grades VALUES (?, ?, ?)",
                    ((json.dumps(part), *record) for record in records(rows, grades)),
                )
        finally:
            self._next = time.monotonic() + max(_SECONDS, _SHARE * (time.monotonic() - begun))

    def _note_failure(self, writing: Future[None]) -> None:
        """Note why grades could not be stored. The run itself continues: its report has all grades."""
        if (error := writing.exception()) is not None and not self.notes:
            self.notes.append(f"Grades could not be stored in {self._unfinished}: {error}.")

    def finish(self, report: Report) -> Report:
        """Write the report; the unfinished file is removed once no row remains to be graded.

        Returns:
            The report with notes on the file: whether rows remain, and what could not be written.
        """
        self._writer.shutdown(wait=True)
        columns = [one for grades in report.grades.values() for one in (grades.repeats or (grades,))]
        is_left = self._is_left or any(
            error.kind in _LEFT for grades in columns for error in grades.errors.values()
        )
        notes = [self.goes_on] if is_left else []
        report = replace(report, notes=tuple(dict.fromkeys((*report.notes, *self.notes, *notes))))
        # The report must not be lost with its file: the packages that write it may raise anything.
        error = attempt(lambda: write_report(report, self.path, marks={_MARK: self._mark}))
        if isinstance(error, Exception):
            note = f"The report could not be written, its grades are in {self._unfinished}: {error}"
            return replace(report, notes=(*report.notes, note))
        if not is_left:
            self._remove()
        return report

    def _remove(self) -> None:
        with suppress(OSError):
            self._unfinished.unlink()  # before the lock is released
        self._database.close()

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.shutdown(wait=True)
        self._database.close()


@dataclass(frozen=True)
class SavedGrades:
    """One grader's part of a run's file: the `Checkpoint` of its run.

    Attributes:
        file: The run's.
        part: Owner of the grades.
        rows: The graded rows among all (m,); None for all.
        apply: Converts grades that are not final yet before they are stored.
    """

    file: RunFile
    part: Part
    rows: NDArray[np.intp] | None = None
    apply: Callable[[Grades], Grades] = lambda grades: grades

    def kept(self, n: int) -> Grades:
        """The grades of earlier runs; rows without one are missing."""
        grades = self.file.kept(self.part)
        if grades is None:
            return Grades.empty(n)
        return grades if self.rows is None else grades.take(self.rows)

    def of_rows(self, rows: NDArray[np.intp]) -> SavedGrades:
        """The checkpoint for a run over some of the rows (m,), which it numbers from 0 on."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def of_part(self, name: str) -> SavedGrades:
        """The checkpoint for a grader inside this one."""
        return SavedGrades(self.file, (*self.part, name), self.rows)

    def applied(self, apply: Callable[[Grades], Grades]) -> SavedGrades:
        """The checkpoint for grades that are stored after a function was applied to them."""
        return replace(self, apply=apply)

    def add(
        self, grades: Grades, *, without: Callable[[], Mapping[int, object]] = dict, final: bool = False
    ) -> None:
        """Store the rows graded since the last call, unless that was too recent."""
        self.file.add(self.part, self.rows, grades, self.apply, without, final=final)


def _of_grades(fingerprint: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in fingerprint.items() if name not in _AFTER_GRADING}


def _without(grades: Grades, again: NDArray[np.bool_]) -> Grades:
    """Grades in which some rows (n,) are missing, to be graded again."""
    if not again.any():
        return grades
    rest, rows = np.flatnonzero(~again), np.flatnonzero(again)
    return concat_grades([(rows, Grades.empty(len(rows))), (rest, grades.take(rest))])


def _different_graders(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in earlier.keys() | now.keys():
        if name not in now:
            yield f"a grader {name!r}, which is not in this run"
        elif name not in earlier:
            yield f"no grader {name!r}"
        elif earlier[name] != now[name]:
            fields = sorted(
                field
                for field in earlier[name].keys() | now[name].keys()
                if earlier[name].get(field) != now[name].get(field)
            )
            yield f"another {name!r}: {', '.join(fields)}"
