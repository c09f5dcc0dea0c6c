"""Regression rows of a probe, and `Again`: the results of grading them after a fix."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workbench.analysis.finding import Finding
from workbench.core.display_text import counted, one_line
from workbench.core.errors import SamplesError
from workbench.data.samples import Samples, as_samples
from workbench.judges.budget import as_budget
from workbench.probes.acceptance import AcceptanceRule, rule_of
from workbench.probes.board import Board, ProbeOutcome, as_suite, with_texts
from workbench.probes.causes import MENTIONS
from workbench.probes.probe_basis import Base
from workbench.probes.tried import Family, TriedText

RIGHT = "right answer"
"""The `probe` column of rows that are not made by a transformation."""
_PER_HOLE, _PER_FORM, _RIGHT = 10, 5, 20
"""Maximum rows of each kind: enough to notice that a hole is open again, few enough to read. Workbench limit."""

Line = tuple[str, int, str | None, bool, bool]
"""Name, row, text, label, and whether the grader was right about it."""


def kept_rows(
    samples: Samples,
    found: Sequence[Family],
    base: Base | None,
    findings: Sequence[Finding],
    held: AbstractSet[str],
) -> Samples:
    """The regression rows.

    Args:
        samples: The rows drawn.
        found: The graded texts.
        base: What is correct; None if nothing was graded.
        findings: Confirmed holes: their texts are included.
        held: Transformations that apply to this grader: other forms need not be accepted in future.
    """
    lines: list[Line] = []
    proven = kinds_behind({finding.kind for finding in findings}, found)
    for row, text in list((base.right if base else {}).items())[:_RIGHT]:
        lines.append((RIGHT, row, text, True, True))
    for family in found:
        name, good = family.variant.name, family.variant.expects == "accept"
        if name in proven:
            lines += [(name, text.row, text.text, good, False) for text in _spread(family, _PER_HOLE)]
        elif good and name in held and not family.fooled and name != "as-it-is":
            lines += [(name, text.row, text.text, True, True) for text in family.texts[:_PER_FORM]]
    ids = [f"{samples.ids[row]} {name} {number}" for number, (name, row, *_) in enumerate(lines)]
    id_column = samples.columns.get("id", "id")
    kept = with_texts(
        samples, [line[1] for line in lines], [line[2] for line in lines],
        probe=[line[0] for line in lines], label=[line[3] for line in lines], was=[line[4] for line in lines], **{id_column: ids},
    )  # fmt: skip
    if "reference" in samples.columns:
        return kept
    # Otherwise `label` would be taken for the reference when the rows are read from a file.
    frame = kept.frame
    frame["reference"] = None
    return Samples(frame, columns={**kept.columns, "reference": "reference"}, source=samples.source)


def kinds_behind(kinds: AbstractSet[str], found: Sequence[Family]) -> set[str]:
    """Findings' kinds with the transformations that a leading one sums up."""
    always = {
        family.variant.name
        for family in found
        if family.variant.alarm == "always" and family.variant.expects == "reject"
    }
    return {
        *kinds,
        *(MENTIONS if "mention" in kinds else ()),
        *(always if {"accepts-anything", "accepts-anything-on-some-rows"} & {*kinds} else ()),
    }


def _spread(family: Family, most: int) -> list[TriedText]:
    """Misgraded texts, from as many rows as possible, the shortest first."""
    shortest = {text.row: text for text in reversed(family.fooled)}
    first = sorted(shortest.values(), key=lambda text: len(text.text or ""))
    rest = [text for text in family.fooled if text is not shortest[text.row]]
    return [*first, *rest][:most]


@dataclass(frozen=True, eq=False)
class Again:
    """The state of the holes after a fix. Prints as sentences.

    Attributes:
        grader: The fixed grader's name.
        closed: Holes without a misgraded row.
        open: Holes that remain, with the number of their rows that are misgraded or get no score.
        lost: Known-good rows that it accepted before and rejects now.
        kept: Known-good rows that it still accepts.
        rows: The regression rows with the columns `score`, `right` and `error`.
    """

    grader: str
    closed: tuple[str, ...]
    open: dict[str, int]
    lost: int
    kept: int
    rows: pd.DataFrame

    @property
    def ok(self) -> bool:
        """Whether all holes are closed and no known-good row is newly rejected."""
        return not self.open and not self.lost

    def __str__(self) -> str:
        holes = len(self.closed) + len(self.open)
        lines = [
            f"{one_line(self.grader)}: {len(self.closed)} of {counted(holes, 'hole')} closed{_list(self.closed)}."
        ]
        if self.open:
            still = [f"{name} ({counted(count, 'row')})" for name, count in self.open.items()]
            lines.append(f"Still open: {', '.join(still)}.")
        lines.append(
            f"Known-good rows newly rejected: {self.lost} of {self.lost + self.kept}{_list(self._lost_forms())}."
            if self.lost
            else f"No known-good row is newly rejected ({self.kept} of {self.kept} still accepted)."
        )
        if failed := int(self.rows["score"].isna().sum()):
            lines.append(
                f"{counted(failed, 'row')} got no score, which does not close a hole; see the column error of rows."
            )
        return "\n".join(lines)

    def _lost_forms(self) -> tuple[str, ...]:
        lost = self.rows[(self.rows["label"] == True) & (self.rows["was"] == True) & ~self.rows["right"]]  # noqa: E712
        return tuple(dict.fromkeys(lost["probe"]))

    __repr__ = __str__


def _list(names: tuple[str, ...]) -> str:
    return f" ({', '.join(names)})" if names else ""


def again(grader: Any, rows: Any, *, pass_threshold: float | None = None, budget: Any = None) -> Again:
    """Grade regression rows: `Probe.rows`, or rows read from a file of them.

    Args:
        grader: The fixed grader.
        rows: Rows with the columns `probe`, `label` and `was`.
        pass_threshold: Lowest score that accepts a row; None as in `probe`.
        budget: The maximum that judges may spend.

    Raises:
        SamplesError: The rows lack these columns.
    """
    samples = as_samples(rows)
    frame = samples.frame.reset_index(drop=True)
    if missing := {"probe", "label", "was"} - set(frame.columns):
        raise SamplesError(
            "these are not regression rows",
            found=f"no column {min(missing)!r}",
            expected="the rows of `Probe.rows`",
        )
    board = Board(as_suite(grader), samples, as_budget(budget))
    texts = [thread.completion() for thread in samples.threads]
    board.grade(enumerate(texts))
    outcomes = [
        board.outcomes.get((row, text), ProbeOutcome(float("nan"), tried=False))
        for row, text in enumerate(texts)
    ]
    rule = _rule(frame, outcomes, pass_threshold)
    label, was = ([value in (True, 1, "True", "true") for value in frame[name]] for name in ("label", "was"))
    right = [
        # A failure is not a verdict: only a score closes a hole.
        outcome.score == outcome.score
        and (not rule.rejects(row, outcome) if good else not rule.accepts(row, outcome))
        for row, (good, outcome) in enumerate(zip(label, outcomes, strict=True))
    ]
    scores, errors = [one.score for one in outcomes], [one.error for one in outcomes]
    frame = frame.assign(label=label, was=was, right=right, score=scores, error=errors)
    holes = (
        frame[~frame["was"]].groupby("probe", sort=False)["right"].agg(lambda column: int((~column).sum()))
    )
    known = frame[frame["label"] & frame["was"]]["right"]
    still = {str(name): int(count) for name, count in holes.items() if count}
    closed = tuple(str(name) for name, count in holes.items() if not count)
    return Again(board.name, closed, still, int((~known).sum()), int(known.sum()), frame)


def _rule(frame: pd.DataFrame, outcomes: list[ProbeOutcome], pass_threshold: float | None) -> AcceptanceRule:
    best = {
        row: outcome.score
        for row, (name, outcome) in enumerate(zip(frame["probe"], outcomes, strict=True))
        if name == RIGHT and outcome.score == outcome.score
    }
    return rule_of(outcomes, best, pass_threshold=pass_threshold)
