"""The cost of a diagnosis, against one sort of the same scores in the same run.

Run it with `python benchmarks/diagnosing.py [--rounds 5]`.

Compare the ratios: machines differ and are shared. *flat* are scores without groups; *clustered* are eight rows per
prompt on a continuous scale, which is the slowest case; *labelled* has a human label per row in addition. The median of the
round ratios is shown, and how a case grows with its rows.

The second part times `report.findings`, as a user calls it, on reports over 100,000 rows with a prompt, a completion, a reference and a
topic: *first* has new rows each time, so that their columns are read; *again* has the same rows, as after an edit in the app. *confounded*
rows have eight further columns of few values, a writer among them, and labels. Seconds are those of the calling thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import workbench as wb
from workbench.analysis.diagnostics import diagnose
from workbench.core.grades import Grades
from workbench.report import Report
from workbench.report.settings import reuse

ROWS = (1_000, 10_000, 100_000)
CASES = ("flat", "clustered", "labelled")


def grades_of(rows: int) -> Grades:
    """Scores close together on a continuous scale."""
    grades = Grades.empty(rows)
    grades.put_scores(0, np.clip(np.random.default_rng(2).normal(0.7, 0.03, rows), 0, 1), seconds=0.001)
    return grades


def case_of(name: str, rows: int) -> Callable[[], object]:
    """One diagnosis, ready to be timed."""
    grades = {"g": grades_of(rows)}
    groups = None if name == "flat" else np.arange(rows) // 8
    labels = [row % 2 == 0 for row in range(rows)] if name == "labelled" else None
    return lambda: diagnose(grades, groups=groups, labels=labels)


def seconds(action: Callable[[], object]) -> float:
    """Seconds of this thread in one call: other processes do not count."""
    start = time.thread_time()
    action()
    return time.thread_time() - start


def rows_of(kind: str, n: int) -> wb.Samples:
    """Eight completions per prompt, with or without columns that may explain a cause."""
    draw = np.random.default_rng(1)
    columns = {
        "prompt": [f"How many apples are left in basket {row // 8}?" for row in range(n)],
        "completion": [f"There are {row % 40} apples left in it." for row in range(n)],
        "reference": [str(row % 40) for row in range(n)],
        "topic": draw.choice(["fruit", "sums", "baskets"], n),
    }
    if kind == "confounded":
        columns |= {f"column {at}": draw.choice(["one", "two", "three", "four"], n) for at in range(7)}
        columns |= {"writer": draw.choice(["first", "second", "third"], n), "good": draw.random(n) < 0.5}
    return wb.Samples(pd.DataFrame(columns))


def report_of(samples: wb.Samples, n_graders: int, kind: str) -> Report:
    """A report of code graders whose scores depend on label and writer."""
    draw, frame = np.random.default_rng(3), samples.frame
    grades = {}
    for at in range(n_graders):
        scores = draw.normal(0.5, 0.2, len(samples))
        if kind == "confounded":
            scores += np.where(frame["good"], 0.1, 0.0) + np.where(frame["writer"] == "first", 0.1, 0.0)
        columns = Grades.empty(len(samples))
        columns.put_scores(0, np.clip(np.round(scores, 1 + at % 2), 0, 1), seconds=0.001)
        grades[f"grader {at}"] = columns
    return Report(samples, grades, labels="good" if kind == "confounded" else None)


def findings_of_reports(rounds: int) -> None:
    """Time the findings of reports over 100,000 rows, and print them with their base."""
    scores = grades_of(ROWS[-1]).scores
    base = statistics.median(seconds(lambda: np.sort(scores)) for _ in range(rounds))
    print(f"\n{'report of':<16}{'graders':>8}{'first':>12}{'again':>12}{'x sort':>9}")
    for kind in ("plain", "confounded"):
        for n_graders in (1, 10):
            first, again = [], []
            for _ in range(rounds):
                samples = rows_of(kind, ROWS[-1])
                new, other = (report_of(samples, n_graders, kind) for _ in range(2))
                first.append(seconds(lambda held=new: held.findings))
                other.__dict__["columns"] = other.columns
                other.findings  # noqa: B018 (reads the columns)
                same = reuse(report_of(samples, n_graders, kind), other)
                same.analysis.claims = type(same.analysis.claims)()
                again.append(seconds(lambda held=same: held.findings))
            once, twice = statistics.median(first), statistics.median(again)
            print(
                f"{kind:<16}{n_graders:>8}{1000 * once:>9.0f} ms{1000 * twice:>9.0f} ms{once / base:>9,.0f}"
            )


def main() -> None:
    """Time every case, and print it with its baseline."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{'case':<11}{'rows':>9}{'diagnosis':>13}{'x sort':>9}{'growth':>9}")
    for name in CASES:
        before = 0.0
        for rows in ROWS:
            action, scores = case_of(name, rows), grades_of(rows).scores
            action()  # warm-up
            taken = [(seconds(action), seconds(lambda held=scores: np.sort(held))) for _ in range(rounds)]
            ratio = statistics.median(one / base for one, base in taken)
            median = statistics.median(one for one, _ in taken)
            growth = f"{median / before:.1f}" if before else ""
            print(f"{name:<11}{rows:>9,}{1000 * median:>10.1f} ms{ratio:>9,.0f}{growth:>9}")
            before = median
    findings_of_reports(rounds)


if __name__ == "__main__":
    main()
