"""The cost of a diagnosis, against one sort of the same scores in the same run.

Run it with `python benchmarks/diagnosing.py [--rounds 5]`.

Compare the ratios: machines differ and are shared. *flat* are scores without groups; *clustered* are eight rows per
prompt on a continuous scale, which is the slowest case; *labelled* has a human label per row in addition. The median of the
round ratios is shown, and how a case grows with its rows.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from workbench.analysis.diagnostics import diagnose
from workbench.core.grades import Grades

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
    """Wall time of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


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


if __name__ == "__main__":
    main()
