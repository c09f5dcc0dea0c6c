"""Two graders on the rows that both scored: their quadrants, and the agreed completion most similar to a disagreement."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.app.view.cells import last_question
from workbench.app.view.text_differences import similarity
from workbench.report import Comparison, Report
from workbench.report.counts import Counts, counts_of, parts_of
from workbench.report.frames import row_texts
from workbench.report.where import case_of

__all__ = ["QUADRANTS", "Compared"]

Rows = NDArray[np.intp]

QUADRANTS = {"both": (True, True), "a": (True, False), "b": (False, True), "neither": (False, False)}
"""Key of a quadrant to whether the first and the second grader accept its rows."""

_RANKED = 200  # disagreements that are ordered by similarity; the others follow them
_CANDIDATES = 12  # agreed completions of one prompt that a disagreement is compared with


class Compared:
    """Two graders of one report on the same rows; each result is computed once.

    Args:
        report: The report with both.
        a: Name of one grader.
        b: Name of the other.
    """

    def __init__(self, report: Report, a: str, b: str) -> None:
        self.report, self.a, self.b = report, a, b
        self.cases = (case_of(report, a), case_of(report, b))
        self._matches: dict[int, tuple[int, float] | None] = {}
        self._texts: dict[int, tuple[Any, ...]] = {}

    @cached_property
    def comparison(self) -> Comparison:
        """The paired differences, with their intervals."""
        return self.report.compare(self.a, self.b)

    @cached_property
    def quadrants(self) -> dict[str, Rows]:
        """Key to the numbers of its rows, ascending; see `QUADRANTS`."""
        accepted, refused = (self._by_verdict(passed=passed) for passed in (True, False))
        sides = {True: accepted, False: refused}
        return {
            key: np.intersect1d(sides[a][0], sides[b][1], assume_unique=True)
            for key, (a, b) in QUADRANTS.items()
        }

    def _by_verdict(self, *, passed: bool) -> list[Rows]:
        """Rows that each of the two accepts, or rejects."""
        return [case.rows[case.accepted == passed] for case in self.cases]

    @property
    def n(self) -> int:
        """Rows that both scored."""
        return sum(map(len, self.quadrants.values()))

    @property
    def labels(self) -> NDArray[np.int8]:
        """1 known good, 0 known bad, -1 unknown, (n of the report,)."""
        return self.cases[0].labels

    def counts(self, key: str) -> Counts:
        """Rows of a quadrant by label: accepted if either of the two accepts them."""
        case = self.cases[1 if key == "b" else 0]
        return counts_of(parts_of(case), self.quadrants[key])

    # ---- the rows of a quadrant in the order to read them

    def ordered(self, key: str, rows: Rows) -> Rows:
        """Rows of a quadrant; disagreements that are most similar to an agreed completion first.

        Args:
            key: The quadrant.
            rows: Those of its rows that are shown, ascending.
        """
        if key not in {"a", "b"}:
            return rows
        ranked, others = rows[:_RANKED], rows[_RANKED:]
        self._read(np.concatenate([ranked, *(self._candidates(int(row)) for row in ranked)]))
        matches = [self.match(int(row)) for row in ranked]
        likeness = np.array([-1.0 if match is None else match[1] for match in matches])
        return np.concatenate([ranked[np.argsort(-likeness, kind="stable")], others])

    def match(self, row: int) -> tuple[int, float] | None:
        """The most similar completion of the same prompt that both accept, and its similarity; None if there is none."""
        if row not in self._matches:
            answer = self.answer(row)
            likeness = [
                (int(candidate), similarity(answer, self.answer(int(candidate))))
                for candidate in self._candidates(row)
            ]
            self._matches[row] = max(likeness, key=lambda pair: pair[1], default=None)
        return self._matches[row]

    def _candidates(self, row: int) -> Rows:
        """The first rows of the same prompt that both accept."""
        order, starts = self._agreed
        prompt = self._prompts[row]
        return order[starts[prompt] : min(starts[prompt + 1], starts[prompt] + _CANDIDATES)]

    @cached_property
    def _prompts(self) -> NDArray[np.intp]:
        return self.report.prompt_codes

    @cached_property
    def _agreed(self) -> tuple[Rows, Rows]:
        """Rows that both accept, by prompt, and each prompt's start index."""
        both = self.quadrants["both"]
        prompts = self._prompts[both]
        order = np.argsort(prompts, kind="stable")
        n_prompts = int(self._prompts.max(initial=-1)) + 1
        return both[order], np.searchsorted(prompts[order], np.arange(n_prompts + 1))

    # ---- texts

    def _read(self, rows: Rows) -> None:
        """Read the texts of these rows together."""
        missing = np.unique([row for row in rows if int(row) not in self._texts]).astype(np.intp)
        if len(missing):
            texts = row_texts(self.report.samples, missing, last_question)
            self._texts |= dict(zip(map(int, missing), texts, strict=True))

    def _text(self, row: int, at: int) -> str:
        if row not in self._texts:
            self._read(np.array([row], np.intp))
        text = self._texts[row][at]
        return "" if text is None else str(text)

    def identity(self, row: int) -> str:
        """A row's id."""
        return self._text(row, 0)

    def prompt(self, row: int) -> str:
        """The prompt of a row: the user's last turn."""
        return self._text(row, 1)

    def answer(self, row: int) -> str:
        """A row's completion; "" for none."""
        return self._text(row, 2)

    def prepare(self, rows: Rows) -> None:
        """Read all texts needed to show these rows together, and drop the others."""
        if len(self._texts) > 2 * _RANKED * _CANDIDATES:
            self._texts.clear()
        self._read(np.concatenate([rows, *(self._candidates(int(row)) for row in rows)]))
