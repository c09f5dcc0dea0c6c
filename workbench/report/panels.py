"""Panels in a report (agreement of members, dissent, failures, weights from labels), and examples for a judge from labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.diagnostics.annotators import PanelVerdicts, panel_verdicts
from workbench.analysis.labels import read_labels
from workbench.analysis.statistics import Codes, Flags, Floats, compact
from workbench.analysis.statistics.means import share
from workbench.core.display_text import one_line
from workbench.core.errors import FormatError, ReportError
from workbench.core.safe_frame import SafeFrame
from workbench.data.samples import Sample, as_samples
from workbench.judges.kinds import Judge
from workbench.judges.kinds.panel import Panel
from workbench.judges.panel_votes import fold_of
from workbench.judges.prompts import check_examples
from workbench.report.cases import kappa_cells, label_codes
from workbench.report.settings import ReportLike, label_column

_COLUMNS = (
    "grader", "judge", "votes", "failed", "skipped", "dissents", "dissent_share", "dissent_lo", "dissent_hi", "labels",
    "kappa", "kappa_lo", "kappa_hi",
)  # fmt: skip
_FOLDS = 5
_MIN_LABELS = 10  # of each class; with fewer a fold may have none to fit on
_DIGITS = 4


def panels_frame(report: ReportLike) -> pd.DataFrame:
    """One row for each member of each panel; see `Report.panels`."""
    lines = [
        {"grader": name, **line}
        for name, grades in report.grades.items()
        if (votes := panel_verdicts(grades)) is not None
        for line in _lines(report, votes)
    ]
    return SafeFrame(lines, columns=list(_COLUMNS))


def _lines(report: ReportLike, votes: PanelVerdicts) -> Iterator[dict[str, Any]]:
    labels = label_codes(report)[votes.rows]
    prompts = report.prompt_codes[votes.rows]
    for at, name in enumerate(votes.names):
        voted = ~np.isnan(votes.verdicts[:, at])
        decided = np.isin(votes.verdicts[:, at], (0.0, 1.0))
        skipped = votes.is_called[:, at] & ~voted & ~votes.is_failed[:, at]
        dissent = share(votes.is_dissent[voted, at], compact(prompts[voted]))
        low, high = dissent.interval()
        yield {
            "judge": name,
            "votes": int(voted.sum()),
            "failed": int(votes.is_failed[:, at].sum()),
            "skipped": int(skipped.sum()),
            "dissents": dissent.k,
            "dissent_share": dissent.value,
            "dissent_lo": low,
            "dissent_hi": high,
            **kappa_cells(votes.verdicts[decided, at], labels[decided], prompts[decided]),
        }


def panel_lines(report: ReportLike) -> Iterator[str]:
    """A sentence for each panel: agreement, rows with dissent, ties and failures."""
    for name, grades in report.grades.items():
        votes = panel_verdicts(grades)
        if votes is None:
            continue
        failed = int(votes.is_failed.any(1).sum())
        parts = [
            f"panel: {one_line(name, 60)}: {_alpha(votes, report.prompt_codes)}",
            f"divided on {int(votes.has_dissent.sum()):,} of {len(votes.rows):,} rows",
            f"{int(votes.is_tie.sum()):,} ties" if votes.is_tie.any() else "",
            f"a judge failed on {failed:,} rows" if failed else "",
        ]
        yield "; ".join(filter(None, parts))


def _alpha(votes: PanelVerdicts, prompts: Codes) -> str:
    always = len(votes.always_called)
    if always < 2:
        return f"{len(votes.names)} judges, fewer than two of them on every row"
    alpha = votes.alpha(prompts)
    low, high = alpha.interval()
    interval = "" if math.isnan(low) else f" (95 % interval {low:.2f} to {high:.2f})"
    value = "none, since all votes are equal" if math.isnan(alpha.value) else f"{alpha.value:.2f}{interval}"
    only = "" if always == len(votes.names) else ", those called on every row"
    return f"Krippendorff's alpha of {always} judges{only} {value}"


def fit_panel(panel: Panel, report: Any, labels: Any = None) -> Panel:
    """A panel with weights from labels; see `Panel.fit`."""
    votes = panel_verdicts(report.grades[panel.name]) if panel.name in report.grades else None
    members = dict(panel.members)
    if votes is None or not set(votes.names) <= set(members):
        raise ReportError(
            "the report has no votes of this panel",
            found=", ".join(map(repr, report.graders)),
            expected=repr(panel.name),
            hint="run it first: report = panel.run(samples)",
        )
    codes = label_codes(report, labels)
    labelled = codes[votes.rows] >= 0
    good = codes[votes.rows] == 1
    for what, count in (("good", int((labelled & good).sum())), ("bad", int((labelled & ~good).sum()))):
        if count < _MIN_LABELS:
            raise ReportError(
                f"weights need {_MIN_LABELS} rows labelled {what}",
                found=f"{count} with votes",
                hint=f"label {_MIN_LABELS - count} more, or use equal weights",
            )
    samples = report.samples.take(votes.rows)
    folds = np.array([fold_of(sample.thread, _FOLDS) for sample in samples])
    entry_of = np.array([members[name] for name in votes.names])
    weights = [_weights(votes, entry_of, labelled & (folds != fold), good, panel) for fold in range(_FOLDS)]
    return replace(panel, fold_weights=tuple(weights))


def _weights(
    votes: PanelVerdicts, entry_of: Codes, rows: Flags, good: Flags, panel: Panel
) -> tuple[float, ...]:
    """The log-odds of each entry's accuracy on some rows, both classes counted equally."""
    weights = []
    for entry in range(len(panel.entries)):
        verdicts = votes.verdicts[:, entry_of == entry]
        rates = [_rate(verdicts[rows & (good == side)], side) for side in (True, False)]
        accuracy = sum(rates) / 2
        weights.append(max(0.0, round(math.log(accuracy / (1 - accuracy)), _DIGITS)))
    if not sum(weights):
        raise ReportError(
            "no member of the panel is better than chance on the labels",
            hint="read report.panels, and fix or replace the judges",
        )
    return tuple(weights)


def _rate(verdicts: Floats, side: bool) -> float:
    """Share of votes for the right side, with one right and one wrong vote added: never 0 or 1 (Laplace's rule)."""
    known = verdicts[~np.isnan(verdicts)]
    right = known if side else 1 - known
    return float((right.sum() + 1) / (len(known) + 2))


def judge_with_examples(judge: Judge, rows: Any, labels: Any, n: int, seed: int) -> Judge:
    """A judge with examples from labelled rows; see `Judge.with_examples`."""
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise ReportError("n must be 1 or more", found=repr(n), hint="n=4")
    if not judge.has_own_examples and judge.label_reply(good=True) is None:
        raise FormatError(
            f"a label does not determine a reply of {judge.kind!r}",
            hint="write examples=[{'input': ..., 'output': ..., 'reply': ...}]",
        )
    samples, codes = _labelled(rows, labels)
    chosen = _chosen(codes, samples.group_codes, n, seed)
    examples = [
        _example(judge, sample, good=bool(codes[row] == 1))
        for row, sample in zip(chosen, samples.take(np.array(chosen, np.intp)), strict=True)
    ]
    made = replace(judge, examples=tuple(examples))
    check_examples(made)
    return made


def _labelled(rows: Any, labels: Any) -> tuple[Any, NDArray[np.int8]]:
    if hasattr(rows, "grades"):
        return rows.samples, label_codes(rows, labels)
    samples = as_samples(rows)
    if labels is None:
        raise ReportError(
            "rows need labels", expected="the name of a column, or a list", hint="labels='good'"
        )
    return samples, read_labels(label_column(samples, labels), len(samples))


def _chosen(codes: NDArray[np.int8], prompts: NDArray[np.intp], n: int, seed: int) -> list[int]:
    """Rows drawn at random, good and bad in turn, each of another prompt."""
    order = np.random.default_rng(seed).permutation(len(codes))
    waiting = {side: [int(row) for row in order if codes[row] == side] for side in (1, 0)}
    used: set[int] = set()
    chosen: list[int] = []
    for at in range(n):
        side = 1 - at % 2
        row = next((row for row in waiting[side] if int(prompts[row]) not in used), None)
        if row is None:
            wanted = n - n // 2 if side else n // 2
            found = sum(codes[row] == side for row in chosen)
            raise ReportError(
                f"{n} examples need {wanted} prompts with a row labelled {'good' if side else 'bad'}",
                found=str(found),
                hint="label more rows, or use a smaller n",
            )
        used.add(int(prompts[row]))
        chosen.append(row)
    return chosen


def _example(judge: Judge, sample: Sample, *, good: bool) -> dict[str, Any]:
    example: dict[str, Any] = {
        "input": [{"role": turn.role, "content": turn.content} for turn in sample.thread.messages()],
        "output": sample.thread.completion() or "",
    }
    if judge.has_own_examples:
        return {**example, "passes": good}
    metadata = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
    columns = {name: metadata[name] for name in getattr(judge, "rubric_vars", ()) if name in metadata}
    return {
        **example,
        "reply": judge.label_reply(good=good),
        **({} if sample.reference is None else {"reference": sample.reference}),
        **({"metadata": columns} if columns else {}),
    }
