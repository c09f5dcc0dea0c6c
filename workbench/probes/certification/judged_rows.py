"""`JudgedRows`: the verdicts of one judge on rows, from a run or from columns of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from workbench.analysis.case import Case
from workbench.analysis.labels import Votes, read_labels
from workbench.analysis.statistics import Codes, Flags, LabelCodes, compact
from workbench.analysis.statistics.confusion import Confusion
from workbench.analysis.statistics.means import Share, share
from workbench.core.errors import ReportError
from workbench.core.grade import Grade
from workbench.core.grades import FAILED, SCORED, Grades
from workbench.data.samples import Samples
from workbench.data.samples.plain import is_missing
from workbench.probes.board import NOT_TRIED
from workbench.report.sample_columns import SampleColumns

_LETTERS = ("A", "B", "TIE")


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The verdicts of a judge.

    Attributes:
        name: The judge's name.
        samples: The rows, n of them.
        grades: Its grades.
        labels: 1 good, 0 bad, -1 unlabelled, (n,).
        pass_threshold: Lowest score that accepts a row for which the judge returns no verdict itself.
        scale: Lowest and highest score.
        votes: Labels of each annotator; None if there is one.
    """

    name: str
    samples: Samples
    grades: Grades
    labels: LabelCodes
    pass_threshold: float = 0.5
    scale: tuple[float, float] = (0.0, 1.0)
    votes: Votes | None = field(default=None, repr=False)

    @cached_property
    def verdicts(self) -> LabelCodes:
        """1 accepted, 0 rejected, -1 no verdict: failed, skipped, or a tie of two completions, (n,)."""
        return verdicts_of(self.grades, self.pass_threshold)

    @cached_property
    def groups(self) -> Codes:
        """Prompt of each row, (n,)."""
        return self.samples.group_codes

    @cached_property
    def case(self) -> Case:
        """The grades as the input of diagnostics."""
        return Case(
            self.name, self.grades, self.groups, self.labels, self.pass_threshold, self.scale,
            self.columns, votes=self.votes,
        )  # fmt: skip

    @cached_property
    def columns(self) -> SampleColumns:
        """Columns of the rows."""
        return SampleColumns(self.samples)

    @cached_property
    def texts(self) -> list[str]:
        """The completions; "" for none."""
        return [text or "" for text in self.samples.completions()]

    def rows(self, label: int, verdict: int | None = None) -> Codes:
        """Numbers of the rows with this label and a verdict, or this verdict."""
        has = self.verdicts >= 0 if verdict is None else self.verdicts == verdict
        return np.flatnonzero((self.labels == label) & has)

    @property
    def judged(self) -> Codes:
        """Numbers of the labelled rows with a verdict."""
        return np.flatnonzero((self.labels >= 0) & (self.verdicts >= 0))

    @cached_property
    def confusion(self) -> Confusion:
        """Verdicts against labels."""
        rows = self.judged
        return Confusion(self.labels[rows] == 1, self.verdicts[rows] == 1, self.compact(rows))

    def share(self, hits: Flags, rows: Codes) -> Share:
        """The share of rows that are hits, clustered by prompt; both (m,)."""
        return share(hits, self.compact(rows))

    def compact(self, rows: Codes) -> Codes | None:
        """Prompts of some rows from 0 on; None if each row has its own."""
        codes = compact(self.groups[rows])
        return None if len(codes) == 0 or int(codes.max()) + 1 == len(codes) else codes

    @cached_property
    def failed(self) -> Share:
        """Share of the judged rows that failed by the judge's own fault: a reply that cannot be read, not a server or a budget."""
        excused = {row for row, error in self.grades.errors.items() if error.kind in NOT_TRIED}
        rows = np.array(
            [row for row in np.flatnonzero(self.grades.codes != 0) if int(row) not in excused], np.intp
        )
        return self.share(self.grades.codes[rows] == FAILED, rows)


def verdicts_of(grades: Grades, pass_threshold: float) -> LabelCodes:
    """1 accepted, 0 rejected, -1 no verdict, (n,)."""
    accepted = np.where(
        grades.passed >= 0, grades.passed == 1, np.nan_to_num(grades.scores) >= pass_threshold
    )
    verdicts = np.where(grades.codes == SCORED, accepted, -1).astype(np.int8)
    for row, metadata in grades.metadata.items():
        if "verdicts" in metadata and "winners" in metadata and grades.passed[row] < 0:
            verdicts[row] = -1  # a tie of two completions
    return verdicts


def stored_grades(samples: Samples, judge: str | Sequence[str]) -> Grades:
    """Grades from a column with verdicts or scores, or from two columns with the letters of both orders.

    Args:
        samples: The rows.
        judge: The name of a column, or of past grades of the rows; or two columns with A, B or TIE: the winner with the row's
            completion first (A), and with the other one first (it is B then).

    Raises:
        ReportError: No such column, or a cell that is neither a verdict nor a number.
    """
    if isinstance(judge, str) and judge in samples.old_grades:
        return samples.old_grades[judge]
    names = [judge] if isinstance(judge, str) else list(judge)
    missing = [name for name in names if name not in samples.column_names]
    if missing or len(names) > 2:
        raise ReportError(
            f"there is no column {missing[0] if missing else names!r} with stored verdicts",
            found=", ".join(map(str, samples.column_names[:30])), expected="a grader, or the name of a column",
        )  # fmt: skip
    columns = [samples.column(name).tolist() for name in names]
    grades = Grades.empty(len(samples))
    cells = (
        [_pair_grade(pair) for pair in zip(*columns, strict=True)] if len(names) == 2 else _grades(columns[0])
    )
    for row, grade in enumerate(cells):
        grades.put(row, grade)
    return grades


def _grades(cells: Sequence[Any]) -> list[Grade]:
    try:
        codes = read_labels(list(cells), len(cells))
    except ReportError:
        return [_score(cell) for cell in cells]
    return [
        Grade.skipped("no stored verdict") if code < 0 else Grade(float(code), passed=bool(code))
        for code in codes.tolist()
    ]


def _score(cell: Any) -> Grade:
    if is_missing(cell):
        return Grade.skipped("no stored score")
    try:
        return Grade(float(cell))
    except (TypeError, ValueError):
        raise ReportError(
            "a stored verdict is neither a verdict nor a number",
            found=repr(cell)[:80],
            expected="pass, fail, or a score",
        ) from None


def _pair_grade(pair: Sequence[Any]) -> Grade:
    letters = [str(cell).strip().upper() for cell in pair]
    if any(map(is_missing, pair)):
        return Grade.skipped("no stored verdict")
    if not all(letter in _LETTERS for letter in letters):
        raise ReportError("a stored verdict of a pair must be A, B or TIE", found=repr(list(pair))[:80])
    scores = {"A": 1.0, "TIE": 0.5, "B": 0.0}
    first, second = scores[letters[0]], 1.0 - scores[letters[1]]
    score = first if first == second else 0.5
    names = {1.0: "completion", 0.5: "tie", 0.0: "other"}
    metadata = {"verdicts": letters, "winners": [names[first], names[second]], "consistent": first == second}
    return Grade(score, passed=None if score == 0.5 else score > 0.5, metadata=metadata)
