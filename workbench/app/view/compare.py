"""The Compare mode: two graders, or two versions of one, as a sentence, as a 2x2 table, and the rows on which they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.app.session.versions import current_name
from workbench.app.view import Mode, mode
from workbench.app.view.cells import last_question
from workbench.app.view.grader_agreement import Verdicts
from workbench.app.view.texts import Pieces, cut, find_name, marked, shown_name, similarity
from workbench.core.display_text import counted, one_line
from workbench.core.errors import WorkbenchError
from workbench.report import Report
from workbench.report.comparison import Comparison
from workbench.report.frames import row_texts
from workbench.report.selection import PARTS, Counts, Rows, counts_of, parts_of
from workbench.report.sentences import TITLES, labels_data, sentence
from workbench.report.where import case_of

if TYPE_CHECKING:
    from workbench.app.session.session import Session


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


_SAID = {
    "both": "both accept", "a": "A accepts, B rejects", "b": "B accepts, A rejects", "neither": "both reject",
}  # fmt: skip
_LABELS = {"good": 1, "bad": 0}
_LABEL_OF = {1: True, 0: False, -1: None}
_ONE = "Run a second grader, or run one again after a change, to compare two."
_MAX_PAIRS = 200  # in one reply
_SEARCHED = 200  # characters of a search
_PROMPT = 300  # characters of a prompt


@mode("compare", "Compare", position=3)
class CompareMode(Mode):
    """Compare as the page shows it. See `Mode` for the arguments."""

    def __init__(self, session: Session, on_change: Callable[[], object] = lambda: None) -> None:
        super().__init__(session, on_change)
        self._names = ("", "")  # as selected
        self._key, self._only, self._search = "a", "", ""
        self._revision = 0
        self._listed: tuple[Any, ...] = ()  # the input of the list: compared by identity and by choice
        self._rows: Rows = np.empty(0, np.intp)
        self._compared: Compared | None = None
        self._base: Report | None = None  # the report used for `_compared`
        self._verdicts: tuple[Report, Verdicts] | None = None  # of all graders, and the shown report then

    def show_code(self) -> None:
        """Set the line for the initial comparison."""
        first, second = self._pair(self._graders())
        if first != second:
            self._session.note_comparison(first, second)

    def do_compare(self, a: str, b: str, differing: bool = False) -> None:
        """Select the two graders; selecting the other one's grader swaps them. With `differing`, list the larger disagreement.

        Raises:
            WorkbenchError: Unknown grader.
        """
        names = self._graders()
        chosen = [find_name(name, names) for name in (a, b)]
        if None in chosen:
            raise WorkbenchError("unknown grader to compare", found=one_line(f"{a!r}, {b!r}"))
        first, second = map(str, chosen)
        if first == second:
            before = self._pair(names)
            first, second = (first, before[0]) if before[0] != first else (before[1], second)
        self._names = (first, second)
        if first != second:
            self._session.note_comparison(first, second)
        if differing and (compared := self._current()) is not None:
            self._key = max(("a", "b"), key=lambda key: len(compared.quadrants[key]))
            self._only = self._search = ""

    def choice(self) -> dict[str, str]:
        """The current comparison and listed rows, as `choose` takes them."""
        a, b = self._pair(self._graders())
        return {"a": a, "b": b, "key": self._key, "only": self._only, "search": self._search}

    def select(self, choice: Mapping[str, str]) -> None:
        """Compare as in a saved `choice`.

        Raises:
            WorkbenchError: Unknown grader or rows.
        """
        before = self._names, self._key, self._only, self._search
        try:
            self.do_compare(choice["a"], choice["b"])
            self.do_quadrant(choice["key"], choice["only"], choice["search"])
        except WorkbenchError:
            self._names, self._key, self._only, self._search = before
            raise

    def do_quadrant(self, key: str, only: str = "", search: str = "") -> None:
        """Select which rows are listed.

        Args:
            key: "both", "a", "b" or "neither".
            only: "good" or "bad" for rows with that label; "" for all.
            search: Words that the row contains.

        Raises:
            WorkbenchError: Unknown key or label.
        """
        if key not in QUADRANTS or only not in {"", *_LABELS}:
            raise WorkbenchError("unknown rows to list", found=one_line(f"{key!r}, {only!r}"))
        self._key, self._only, self._search = key, only, str(search)[:_SEARCHED]

    def ask_pairs(self, start: int, stop: int, revision: int) -> list[dict[str, Any]]:
        """A window of the list as `Pair`s; empty for an outdated list."""
        compared = self._current()
        if compared is None or not self._list(compared) or revision != self._revision:
            return []
        start = max(int(start), 0)
        rows = self._rows[start : min(int(stop), start + _MAX_PAIRS)]
        compared.prepare(rows)
        return [self._pair_data(compared, int(row)) for row in rows]

    def data(self) -> dict[str, Any]:
        """`CompareData`."""
        names = self._graders()
        compared = self._current()
        a, b = self._pair(names)
        shown: dict[str, Any] = {
            "revision": self._revision, "graders": list(map(shown_name, names)), "a": shown_name(a), "b": shown_name(b), "n": 0,
            "lead": "", "rest": "", "cells": [], "chosen": self._key, "labels": None, "why_not": "",
            "list": self._list_data(0, 0, (0, 0)), "all": self._agreement_data(),
        }  # fmt: skip
        if compared is None:
            return shown | {"why_not": self._session.runs.why_no_version or _ONE}
        if not compared.n:
            return shown | {"why_not": "The two share no scored row: run both on the same rows."}
        return shown | self._compared_data(compared)

    def _agreement_data(self) -> dict[str, Any] | None:
        """All graders as `AgreementData`; None for fewer than three."""
        verdicts = self._all_verdicts()
        return None if verdicts is None else verdicts.data()

    def _all_verdicts(self) -> Verdicts | None:
        names, base = self._graders(), self._session.results.report
        if len(names) < 3 or base is None:
            return None
        if (
            self._verdicts is None
            or self._verdicts[0] is not base
            or self._verdicts[1].names != names[: len(self._verdicts[1].names)]
        ):
            report = self._session.runs.report_with(*names)
            assert report is not None
            self._verdicts = base, Verdicts(report, names)
        return self._verdicts[1]

    def do_compare_group(self, number: int) -> None:
        """Select the rows of a group of `AgreementData`, which the page then shows.

        Raises:
            WorkbenchError: There is no such group any more.
        """
        verdicts, base = self._all_verdicts(), self._session.results.report
        if verdicts is None or base is None or not 0 <= number < len(verdicts.groups):
            raise WorkbenchError(
                "the graders changed since this group was listed", hint="select another group"
            )
        group = verdicts.groups[number]
        if verdicts.report is base:
            self._session.results.look(*verdicts.where(group))
            return
        ids = {str(verdicts.report.samples.ids[row]) for row in group.rows}  # a version: by its rows
        self._session.results.look(
            {"rows": [row for row, name in enumerate(base.samples.ids) if str(name) in ids]}
        )

    def _compared_data(self, compared: Compared) -> dict[str, Any]:
        counts = self._list(compared)
        lead, rest = sentence(compared.comparison)
        return {
            "revision": self._revision,
            "n": compared.n,
            "lead": lead,
            "rest": rest,
            "cells": [_cell(compared, key) for key in QUADRANTS],
            "labels": labels_data(compared.comparison, self._session.runs.why_no_version),
            "list": self._list_data(len(self._rows), compared.n, counts),
        }

    def _list_data(self, count: int, n: int, by_label: tuple[int, ...]) -> dict[str, Any]:
        return {
            "title": TITLES[self._key], "note": f"{count:,} of {counted(n, 'row')}", "count": count,
            "good": by_label[0], "bad": by_label[1], "only": self._only, "search": one_line(self._search),
        }  # fmt: skip

    def _pair_data(self, compared: Compared, row: int) -> dict[str, Any]:
        match = compared.match(row) if self._key in {"a", "b"} else None
        left = cut(compared.answer(row))
        right = None
        if match is not None:
            left, text = marked(compared.answer(row), compared.answer(match[0]))
            right = _side(compared, match[0], "both", text)
        return {
            "prompt": one_line(compared.prompt(row), _PROMPT),
            "left": _side(compared, row, self._key, left),
            "right": right,
        }

    def _graders(self) -> list[str]:
        """Names that can be compared: of the report, and of versions before a change."""
        versions = self._session.runs.versions()
        return [] if versions is None else versions.graders

    def _pair(self, names: list[str]) -> tuple[str, str]:
        """The two that are compared: the selected ones, else a changed grader with itself, else the first two."""
        if set(self._names) <= set(names):
            return self._names
        report = self._session.results.report
        before = [name for name in names if name not in report.grades] if report is not None else []
        default = [before[0], current_name(before[0])] if before else names[:2]
        a = self._names[0] if self._names[0] in names else (default or [""])[0]
        b = next((name for name in (self._names[1], *reversed(default)) if name in names and name != a), "")
        return a, b

    def _current(self) -> Compared | None:
        """The comparison that is shown; None if there are not two graders."""
        a, b = self._pair(self._graders())
        base = self._session.results.report
        if not (a and b) or a == b or base is None:
            return None
        old = self._compared
        if old is None or self._base is not base or (old.a, old.b) != (a, b):
            report = self._session.runs.report_with(a, b)
            assert report is not None
            self._compared, self._base = Compared(report, a, b), base
        return self._compared

    def _list(self, compared: Compared) -> tuple[int, int]:
        """Rebuild the list if its input changed; with its good and bad rows, before the label filter."""
        rows = compared.quadrants[self._key]
        if self._search.strip():
            found = compared.report.row_numbers({"text": self._search.strip()})
            rows = rows[np.isin(rows, found)]
        labels = compared.labels[rows]
        made_of = (compared, self._key, self._only, self._search)
        if made_of != self._listed:
            wanted = rows[labels == _LABELS[self._only]] if self._only else rows
            self._rows = compared.ordered(self._key, wanted)
            self._listed, self._revision = made_of, self._revision + 1
        return int((labels == 1).sum()), int((labels == 0).sum())


def _cell(compared: Compared, key: str) -> dict[str, Any]:
    counts = compared.counts(key)
    return {
        "key": key, "title": TITLES[key], "count": len(compared.quadrants[key]), "note": _by_label(compared, key),
        "counts": {part: counts[part] for part in PARTS},
    }  # fmt: skip


def _by_label(compared: Compared, key: str) -> str:
    """The rows of a quadrant by label, as text."""
    labels = compared.labels[compared.quadrants[key]]
    if not len(labels):
        return "no row"
    good, bad, unknown = (int((labels == label).sum()) for label in (1, 0, -1))
    if not good + bad:
        return "no labels"
    return f"{good:,} good, {bad:,} bad" + (f", {unknown:,} unlabelled" if unknown else "")


def _side(compared: Compared, row: int, key: str, text: Pieces) -> dict[str, Any]:
    return {
        "row": row, "id": one_line(compared.identity(row), 60), "label": _LABEL_OF[int(compared.labels[row])],
        "said": _SAID[key], "text": text,
    }  # fmt: skip
