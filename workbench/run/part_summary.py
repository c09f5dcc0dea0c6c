"""Summaries of parts of the data: sums and counts of their grades, and a random sample of whole prompts.

Prompts are ordered by a hash of their text, and the first rows up to the limit are included: a bottom-k sample (Cohen & Kaplan
2007, "Summarizing data using bottom-k sketches"). A hash is as good as a random draw, and it is the same in every process,
so that all rows of a prompt are included or none, wherever they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.suite_case import SuiteParts
from workbench.core.errors import FormatError, ReportError
from workbench.core.grades import Grades
from workbench.core.progress import OnProgress
from workbench.core.safe_frame import SafeFrame
from workbench.data.samples import Samples
from workbench.graders.combine import CombiningRule, Entry
from workbench.graders.combine.combined import combine_repeats
from workbench.judges.judge_run import JudgeRun
from workbench.report import Report
from workbench.report.cases import labelled_case
from workbench.report.grades_table import GradeRecords, pack_grades, unpack_grades
from workbench.run.overview import BUNDLES, GraderSummary
from workbench.run.part_run import PartRun, RunSettings, open_run_file

if TYPE_CHECKING:
    from workbench.run.run_file import RunFile


Keys = NDArray[np.uint64]

_LAST = 2**64 - 1
_SMALL = 0.1
"""The largest share of a sample that is omitted so that all its prompts are whole."""
_SPARE = 2
"""Multiple of the sample size at which the excess is dropped: each time the whole sample is rewritten."""

Cut = tuple[int, int]
"""The key of the last included row: no row up to it has been omitted."""
_NO_CUT: Cut = (_LAST, _LAST)


def keys_of(prompts: Keys, has_prompt: NDArray[np.bool_], first: int) -> Keys:
    """The keys by which rows are ordered, (n, 2): the prompt's, then the row's.

    Args:
        prompts: A hash of the prompt of each row, (n,).
        has_prompt: Whether it has one; a row without one counts as a separate prompt, (n,).
        first: The index of the first of these rows among all rows of the data.
    """
    own = _scrambled(np.arange(first, first + len(prompts), dtype=np.uint64))
    return np.column_stack([np.where(has_prompt, prompts, own), own])


def _scrambled(numbers: Keys) -> Keys:
    """Whole numbers as hashes of themselves (splitmix64, Steele, Lea & Flood 2014)."""
    found = numbers + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def _up_to(keys: Keys, cut: Cut) -> NDArray[np.bool_]:
    """Which rows are at or before a cut, (n,)."""
    prompt, row = np.uint64(cut[0]), np.uint64(cut[1])
    before: NDArray[np.bool_] = (keys[:, 0] < prompt) | ((keys[:, 0] == prompt) & (keys[:, 1] <= row))
    return before


def _cut_after(keys: Keys, limit: int) -> Cut:
    """The key of the row at which the limit is reached; none if there are not more rows."""
    if len(keys) <= limit:
        return _NO_CUT
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    prompt, row = keys[order[limit - 1]].tolist()
    return prompt, row


@dataclass(frozen=True)
class SampledPart:
    """The rows of a sample in one part of the data: plain data.

    Attributes:
        part: Number of the part.
        rows: Their indices in it, ascending, (m,).
        keys: See `keys_of`, (m, 2).
        frame: Their columns.
        grades: By the grader's name the records of its grades, then those of each repeat; see `grades_table.records`.
    """

    part: int
    rows: NDArray[np.intp]
    keys: Keys
    frame: pd.DataFrame
    grades: dict[str, list[GradeRecords]]

    @classmethod
    def of(
        cls, part: int, frame: pd.DataFrame, grades: Mapping[str, Grades], keys: Keys, limit: int, cut: Cut
    ) -> tuple[SampledPart, Cut]:
        """The rows of a part that belong to the sample so far, and the cut after them.

        Args:
            part: Number of the part.
            frame: Its rows, n of them.
            grades: By the grader's name, n rows each.
            keys: See `keys_of`, (n, 2).
            limit: Maximum rows.
            cut: Key after which rows are not sampled.
        """
        cut = min(cut, _cut_after(keys, limit))
        rows = np.flatnonzero(_up_to(keys, cut))
        packed = {name: _packed(own.take(rows)) for name, own in grades.items()}
        return cls(part, rows, keys[rows], frame.iloc[rows], packed), cut

    def up_to(self, cut: Cut) -> SampledPart | None:
        """Without the rows after a cut; itself if there are none, None if no row remains."""
        stays = _up_to(self.keys, cut)
        if stays.all():
            return self
        if not stays.any():
            return None
        at = np.flatnonzero(stays)
        grades = {
            name: [pack_grades(unpack_grades(one).take(at)) for one in layers]
            for name, layers in self.grades.items()
        }
        return replace(self, rows=self.rows[at], keys=self.keys[at], frame=self.frame.iloc[at], grades=grades)


@dataclass
class RowSample:
    """A sample of limited size, to which parts of the data are added in any order.

    Attributes:
        limit: Maximum rows.
        parts: What was sampled, by the number of the part.
        cut: Key after which rows are not sampled.
        has_part_of_a_prompt: Once it is finished, whether one of its prompts has more rows than the sample can contain.
    """

    limit: int
    parts: dict[int, SampledPart] = field(default_factory=dict)
    cut: Cut = _NO_CUT
    has_part_of_a_prompt: bool = False
    _keys: Keys = field(default_factory=lambda: np.zeros((0, 2), np.uint64), repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether it has all rows of the data."""
        return self.cut == _NO_CUT

    def add(self, part: SampledPart, cut: Cut) -> None:
        """Add the sampled rows of a part. Excess rows are dropped once they are as many as the limit."""
        if len(part.rows):
            self.parts[part.part] = part
        cut = min(self.cut, cut)
        keys = np.concatenate([self._keys, part.keys])
        # All rows are known only up to the cut.
        keys = keys[_up_to(keys, cut)]
        self.cut = min(cut, _cut_after(keys, self.limit))
        self._keys = keys[_up_to(keys, self.cut)]
        if sum(len(one.rows) for one in self.parts.values()) > _SPARE * self.limit:
            self._leave_out(self.cut)

    def _leave_out(self, cut: Cut) -> None:
        left = {number: one.up_to(cut) for number, one in self.parts.items()}
        self.parts = {number: one for number, one in left.items() if one is not None}

    def finish(self) -> None:
        """Omit the last prompt, of which rows may be missing, unless that would omit much of the sample.

        Otherwise a prompt with more rows than the limit would never be sampled, however large its share of the rows.
        """
        if self.is_whole:
            return
        in_last = int((self._keys[:, 0] == np.uint64(self.cut[0])).sum())
        self.has_part_of_a_prompt = in_last > _SMALL * len(self._keys)
        self._leave_out(self.cut if self.has_part_of_a_prompt else (self.cut[0] - 1, _LAST))

    @property
    def places(self) -> pd.DataFrame:
        """Part and row in it of each sampled row, in the order of the data."""
        parts = self._in_order()
        return SafeFrame({
            "part": np.concatenate([np.zeros(0, np.intp), *(np.full(len(one.rows), one.part) for one in parts)]),
            "row": np.concatenate([np.zeros(0, np.intp), *(one.rows for one in parts)]),
        })  # fmt: skip

    def frame(self) -> pd.DataFrame:
        """The columns of the sampled rows, in the order of the data."""
        parts = self._in_order()
        return pd.concat([one.frame for one in parts], ignore_index=True) if parts else SafeFrame()

    def grades(self) -> dict[str, Grades]:
        """Their grades by the grader's name, in the order of the data."""
        parts = self._in_order()
        names = list(parts[0].grades) if parts else []
        return {name: _joined([one.grades[name] for one in parts]) for name in names}

    def _in_order(self) -> list[SampledPart]:
        return [self.parts[number] for number in sorted(self.parts)]


def _packed(grades: Grades) -> list[GradeRecords]:
    """The reduced grades, then those of each repeat."""
    return list(map(pack_grades, (grades, *grades.repeats)))


def _joined(parts: Iterable[list[GradeRecords]]) -> Grades:
    """The grades of several parts one after another, with their repeats."""
    # If a part's budget was exhausted, repeats may be missing.
    layers = zip(*parts, strict=False)
    first, *repeats = (_behind_each_other([unpack_grades(one) for one in layer]) for layer in layers)
    first.repeats = tuple(repeats) if len(repeats) > 1 else ()
    return first


def _behind_each_other(grades: list[Grades]) -> Grades:
    ends = np.cumsum([0, *map(len, grades)])
    places = [(np.arange(ends[at], ends[at + 1]), one) for at, one in enumerate(grades)]
    joined = Grades.joined(places)
    joined.isolation = next((one.isolation for one in grades if one.isolation), "")
    return joined


@dataclass(frozen=True)
class PartSummary:
    """The result of a part: plain data.

    Attributes:
        number: Of the part.
        rows: Its rows.
        graders: The summary of each grader's grades, by name.
        sampled: Its rows that belong to the sample.
        cut: Hash threshold above which it has omitted rows.
        kept: Number of grades that an earlier run had stored.
        is_left: Whether its file has rows that another run would grade again.
        stopped: Whether grading was stopped before the last row.
        notes: Notes for the user.
    """

    number: int
    rows: int
    graders: dict[str, GraderSummary]
    sampled: SampledPart
    cut: Cut
    kept: int = 0
    is_left: bool = False
    stopped: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Summary:
    """How the grades of a part are summarised: grades its rows, in this process or in a cluster's worker.

    Attributes:
        number: Of the part.
        first: The number of its first row among all rows.
        fingerprints: Of the graders, by name.
        limit: Maximum rows of the sample.
        cut: Hash threshold above which rows are not sampled.
        rule: Combines the graders' grades; None for none.
        column: Name of the combined grade.
        labels: The column of labels; None without.
        folder: Folder for the part's grades; None to discard them.
    """

    number: int
    first: int
    fingerprints: Mapping[str, Mapping[str, str]]
    limit: int
    cut: Cut
    rule: CombiningRule | None = None
    column: str = ""
    labels: str | None = None
    folder: str | None = None

    def __call__(
        self,
        samples: Samples,
        entries: tuple[Entry, ...],
        settings: RunSettings,
        judge_run: JudgeRun,
        listen: OnProgress,
    ) -> PartSummary:
        """Grade the rows of a part and summarise their grades; see `WorkerTask.grade`.

        Raises:
            ReportError: The file of the part's grades is of other rows or graders, damaged or in use.
        """
        path = None if self.folder is None else part_path(self.folder, self.number)
        own = {entry.name: self.fingerprints.get(entry.name, {}) for entry in entries}
        with _part_file(path, samples, own) as file:
            if file is not None:
                file.require_repeats(settings.repeats)
            run = PartRun(entries, samples, settings, judge_run, file, is_part=True)
            stopped = run.go(listen)
            report, notes, is_left = self._report(samples, entries, run.grades()), run.notes, False
            if file is not None:
                of_file = file.finish(report).notes
                is_left = file.goes_on in of_file
                notes += [note for note in of_file if note != file.goes_on]
        return self._of(report, kept=run.kept, is_left=is_left, stopped=stopped, notes=notes)

    def _report(self, samples: Samples, entries: tuple[Entry, ...], grades: dict[str, Grades]) -> Report:
        if self.rule is not None:
            grades[self.column] = combine_repeats(entries, grades, self.rule)
        suite = SuiteParts(entries, self.rule, self.column if self.rule else "", None)
        try:
            return Report(samples, grades, labels=self.labels, fingerprints=self.fingerprints, suite=suite)
        except ReportError as error:
            error.where = ", ".join(filter(None, [f"part {self.number}", error.where]))
            raise

    def _of(self, report: Report, **facts: Any) -> PartSummary:
        samples: Any = report.samples
        hashes, has_prompt = samples.group_hashes
        keys = keys_of(hashes, has_prompt, self.first)
        bundles = (keys[:, 0] % np.uint64(BUNDLES)).astype(np.intp)
        no_groups = np.zeros(len(report), np.intp)  # no statistic of a single part is computed
        graders = {
            name: GraderSummary.of(labelled_case(report, name, no_groups), bundles) for name in report.graders
        }
        sampled, cut = SampledPart.of(self.number, samples.frame, report.grades, keys, self.limit, self.cut)
        return PartSummary(self.number, len(report), graders, sampled, cut, **facts)


def part_path(folder: str | Path, number: int) -> Path:
    """The file of a part's grades."""
    return Path(folder) / f"part-{number:05d}.parquet"


@contextmanager
def _part_file(
    path: Path | None, samples: Samples, fingerprints: Mapping[str, Mapping[str, str]]
) -> Iterator[RunFile | None]:
    """The file of a part, or None without a path."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_run_file(path, samples, fingerprints))
        except (ReportError, FormatError) as error:
            hint = "name another folder, or remove the files in this one to grade all rows again"
            raise type(error)(
                error.what, where=error.where, found=error.found, expected=error.expected, hint=hint
            ) from error
        yield file
