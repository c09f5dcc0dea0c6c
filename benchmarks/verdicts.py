"""Whether verdicts are true: a simulation with known truth, against the `seed` preset in the same run.

Run it with `python benchmarks/verdicts.py [--runs 200] [--processes 2]`. Four tables:

* false verdicts: healthy graders in reports of one and of ten; a verdict (error or warning) is false if the grader
  has no such fault. Target: at most 5 % of reports.
* coverage: 95 % intervals of means, of paired differences, of standard deviations, of shares, and of kappas of several
  annotators; of the agreement of a panel, and of strengths and the order effect of a ladder. Target: 94 %.
* power: if the report requests k more rows for a grader with a fault, how often the verdict is reached with that number of
  rows. Target: 90 %.
* causes: graders with one planted fault each, and which finding leads. Target: the fault.

The verdicts and intervals of `wb.certify` follow, by `benchmarks/certifying.py`.

A cell misses if its figure is past the target by more than two standard errors of the simulation.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics import diagnose
from workbench.analysis.finding import Finding, Severity
from workbench.analysis.labels import Votes
from workbench.analysis.statistics import Estimate
from workbench.analysis.statistics.agreement import among_raters, ceiling_gap
from workbench.analysis.statistics.confusion import paired_difference
from workbench.analysis.statistics.means import mean_interval, share
from workbench.analysis.statistics.noise import sd_interval
from workbench.core.grades import Grades

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.certifying import report_cells, tables, two_errors
from benchmarks.judge_intervals import cells as judge_cells
from benchmarks.judge_intervals import judge_coverage

Floats = NDArray[np.float64]
RUBRIC = (0.0, 0.25, 0.5, 0.75, 1.0)
SIZES = (5, 10, 20, 50, 100, 300, 1_000)
ANSWERS = 8  # rows per prompt, if rows share prompts
LABELLED = {0: "", 1: ", labelled", 3: ", labelled by three"}
VERDICTS = {Severity.ERROR, Severity.WARNING}


@dataclass(frozen=True)
class Draw:
    """Rows of one simulated report."""

    scores: Floats
    labels: NDArray[np.bool_] | None
    groups: NDArray[np.intp] | None
    failed: NDArray[np.bool_] | None = None
    people: NDArray[np.int8] | None = None
    """The labels of each of several annotators for each row, (n, m), instead of `labels`."""


# --- graders: quality of a row (0 to 1, uniform) to its score ---------------------------------------------------------


def _binary(rate: float) -> Callable[[Floats, np.random.Generator], Floats]:
    return lambda quality, rng: (quality + 0 * rng.random(len(quality)) < rate).astype(float)


def _continuous(quality: Floats, rng: np.random.Generator) -> Floats:
    return np.clip(0.2 + 0.6 * quality + rng.normal(0, 0.12, len(quality)), 0, 1)


def _rubric(quality: Floats, rng: np.random.Generator) -> Floats:
    return np.array(RUBRIC)[np.clip((5 * quality + rng.normal(0, 0.5, len(quality))).astype(int), 0, 4)]


HEALTHY = {
    "passes 50 %": _binary(0.5),
    "passes 70 %": _binary(0.7),
    "passes 85 %": _binary(0.85),
    "continuous": _continuous,
    "rubric": _rubric,
}


def qualities(n: int, groups: NDArray[np.intp] | None, rng: np.random.Generator) -> Floats:
    """Uniform over all rows; rows of one prompt are alike."""
    if groups is None:
        return rng.random(n)
    prompts = rng.normal(0, 1, int(groups.max()) + 1)[groups]
    mixed = math.sqrt(0.3) * prompts + math.sqrt(0.7) * rng.normal(0, 1, n)
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in mixed])


def healthy(name: str, n: int, rng: np.random.Generator, *, clustered: bool, people: int) -> Draw:
    """Rows of a grader without a fault: 1 % of failed rows, 1 % of wrong labels of one person, 5 % of each of three."""
    groups = np.arange(n) // ANSWERS if clustered else None
    quality = qualities(n, groups, rng)
    scores = HEALTHY[name](quality, rng)
    labels = (scores >= 0.5) ^ (rng.random(n) < 0.01) if people == 1 else None
    several = labels_of(scores >= 0.5, (0.05,) * people, rng) if people > 1 else None
    return Draw(scores, labels, groups, rng.random(n) < 0.01, several)


def labels_of(
    good: NDArray[np.bool_], errors: tuple[float, ...], rng: np.random.Generator
) -> NDArray[np.int8]:
    """The labels of annotators with these shares of wrong labels for each row, (n, m)."""
    return np.column_stack([good ^ (rng.random(len(good)) < error) for error in errors]).astype(np.int8)


def grades_of(draw: Draw) -> Grades:
    """The rows as a grader's column."""
    from workbench.core.grade import ErrorKind, Grade

    grades = Grades.empty(len(draw.scores))
    grades.put_scores(0, draw.scores, seconds=0.001)
    failed = np.zeros(len(draw.scores), bool) if draw.failed is None else draw.failed
    for row in np.flatnonzero(failed):
        grades.put(int(row), Grade.failed(ErrorKind.RUNTIME, "ValueError: not a number"))
    return grades


def findings_of(draws: list[Draw], preset: str = "workbench") -> list[Finding]:
    """A report's findings; labels and prompts are those of the first grader."""
    first = draws[0]
    labels: Any = None if first.labels is None else first.labels.tolist()
    if first.people is not None:
        labels = Votes(tuple("abcdef"[: first.people.shape[1]]), first.people)
    by_name = {f"g{at}": grades_of(draw) for at, draw in enumerate(draws)}
    return diagnose(by_name, labels=labels, groups=draws[0].groups, preset=preset)


# --- the tables -------------------------------------------------------------------------------------------------------


def false_verdicts(cell: tuple[str, int, bool, int, int, int]) -> tuple[str, float, float, str]:
    """Share of reports with a false verdict, by the workbench and by the seed preset."""
    name, n, clustered, people, graders, runs = cell
    rng = np.random.default_rng([*name.encode(), n, clustered, people, graders])
    kinds: Counter[str] = Counter()
    ours = seed = 0
    for _ in range(runs):
        first = healthy(name, n, rng, clustered=clustered, people=people)
        others = [healthy(name, n, rng, clustered=clustered, people=0) for _ in range(graders - 1)]
        # Other graders of a labelled report differ from the first on 1 % of rows.
        if people:
            others = [_like(first, rng) for _ in others]
        found = {finding.kind for finding in findings_of([first, *others]) if finding.severity in VERDICTS}
        kinds.update(found)
        ours += bool(found)
        seed += any(f.severity in VERDICTS for f in findings_of([first, *others], "seed"))
    design = f"{name}, n={n:,}{', 8 per prompt' if clustered else ''}{LABELLED[people]}, {graders} graders"
    return (
        design,
        ours / runs,
        seed / runs,
        ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(3)),
    )


def _like(first: Draw, rng: np.random.Generator) -> Draw:
    turned = rng.random(len(first.scores)) < 0.01
    return replace(first, scores=np.where(turned, 1 - first.scores, first.scores))


MEANS: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "passes 50 %": lambda n, rng: (rng.random(n) < 0.5) * 1.0,
    "passes 90 %": lambda n, rng: (rng.random(n) < 0.9) * 1.0,
    "passes 98 %": lambda n, rng: (rng.random(n) < 0.98) * 1.0,
    "beta(5, 2)": lambda n, rng: rng.beta(5, 2, n),
    "beta(20, 1)": lambda n, rng: rng.beta(20, 1, n),
    "0.85, 5 % at 0": lambda n, rng: np.where(rng.random(n) < 0.05, 0.0, 0.85),
    "rubric": lambda n, rng: rng.choice(RUBRIC, n, p=(0.02, 0.03, 0.1, 0.25, 0.6)),
}


def _sample(
    name: str, n: int, rng: np.random.Generator, *, clustered: bool
) -> tuple[Floats, NDArray[np.intp] | None]:
    """Rows, or prompts of eight rows of which each is a copy of the prompt's first with a chance of 0.4."""
    if not clustered:
        return MEANS[name](n, rng), None
    groups = np.repeat(np.arange(n), ANSWERS)
    copied = rng.random(len(groups)) < 0.4
    return np.where(copied, MEANS[name](n, rng)[groups], MEANS[name](len(groups), rng)), groups


def coverage(cell: tuple[str, str, int, bool, int]) -> tuple[str, float, float]:
    """How often the interval contains the truth, and how often there is one."""
    statistic, name, n, clustered, runs = cell
    rng = np.random.default_rng([*statistic.encode(), *name.encode(), n, clustered])
    if statistic in KAPPAS:
        return _coverage_of_kappa(cell, rng)
    many = MEANS[name](400_000, rng)
    held = shown = 0
    for _ in range(runs):
        values, groups = _sample(name, n, rng, clustered=clustered)
        if statistic == "mean":
            (lo, hi), truth = mean_interval(values, groups), float(many.mean())
        elif statistic == "sd":
            (lo, hi), truth = sd_interval(values, groups), float(many.std())
        elif statistic == "share":
            (lo, hi), truth = share(values >= 0.5, groups).interval(), float((many >= 0.5).mean())
        else:
            second, _ = _sample(name, n, rng, clustered=clustered)
            (lo, hi), truth = paired_difference(second - values, groups).interval, 0.0
        shown += not math.isnan(lo)
        held += lo - 1e-9 <= truth <= hi + 1e-9
    unit = "prompts of 8" if clustered else "rows"
    return f"{statistic}, {name}, {n:,} {unit}", held / shown if shown else math.nan, shown / runs


PEOPLE = {
    "three careful people": (0.05, 0.05, 0.1),
    "three careless people": (0.25, 0.25, 0.25),
    "two people": (0.1, 0.1),
}
KAPPAS: dict[str, Callable[[NDArray[np.int8], NDArray[np.intp]], Estimate]] = {
    "kappa among annotators": lambda votes, groups: among_raters(votes[:, 1:], groups),
    "below the human ceiling": lambda votes, groups: ceiling_gap(votes[:, 0], votes[:, 1:], groups),
}


def _coverage_of_kappa(
    cell: tuple[str, str, int, bool, int], rng: np.random.Generator
) -> tuple[str, float, float]:
    """The same for kappas of annotators, and of a grader that errs on a fifth of the rows in addition."""
    statistic, name, n, clustered, runs = cell
    errors, groups = (0.2, *PEOPLE[name]), np.arange(n) // (ANSWERS if clustered else 1)

    def votes(rows: int) -> NDArray[np.int8]:
        return labels_of(qualities(rows, groups if rows == n else None, rng) > 0.5, errors, rng)

    truth = KAPPAS[statistic](votes(100_000), np.arange(100_000)).value
    intervals = [KAPPAS[statistic](votes(n), groups).interval() for _ in range(runs)]
    held = sum(lo <= truth <= hi for lo, hi in intervals)
    return f"{statistic}, {name}, {n:,} rows{', 8 a prompt' if clustered else ''}", held / runs, 1.0


# A grader with one fault: the finding that names it, and its rows.
FAULTS: dict[str, tuple[str, Callable[[int, np.random.Generator], Draw]]] = {}
for _rate in (0.1, 0.2, 0.4):
    FAULTS[f"accepts {_rate:.0%} of bad rows"] = (
        "too-lenient",
        lambda n, rng, rate=_rate: _labelled(n, rng, false_accepts=rate),
    )
    FAULTS[f"rejects {_rate + 0.1:.0%} of good rows"] = (
        "too-strict",
        lambda n, rng, rate=_rate: _labelled(n, rng, false_rejects=rate + 0.1),
    )
    FAULTS[f"fails on {_rate / 2:.0%} of rows"] = (
        "broken",
        lambda n, rng, rate=_rate: Draw(rng.random(n), None, None, rng.random(n) < rate / 2),
    )
FAULTS["always 0.95"] = ("same-score", lambda n, rng: Draw(np.full(n, 0.95) + 0 * rng.random(n), None, None))
FAULTS["97 % at the top"] = (
    "saturated-high",
    lambda n, rng: Draw(np.where(rng.random(n) < 0.97, 1.0, rng.random(n)), None, None),
)
FAULTS["0.70 and 0.02 either way"] = (
    "narrow-range",
    lambda n, rng: Draw(rng.normal(0.7, 0.02, n), None, None),
)
FAULTS["a coin"] = (
    "no-better-than-chance",
    lambda n, rng: Draw((rng.random(n) < 0.5) * 1.0, rng.random(n) < 0.5, None),
)
FAULTS["reversed"] = (
    "worse-than-chance",
    lambda n, rng: _labelled(n, rng, false_accepts=0.9, false_rejects=0.9),
)
FAULTS["threshold at 0.5, should be 0.2"] = (
    "suboptimal-pass-threshold",
    lambda n, rng: _labelled_scores(n, rng, good=0.3, bad=0.1),
)
FAULTS["zero-variance prompts"] = (
    "zero-variance-groups",
    lambda n, rng: Draw((np.repeat(rng.random(-(-n // 8)) < 0.5, 8)[:n]) * 1.0, None, np.arange(n) // 8),
)
FAULTS["0.3 lower from the middle on"] = (
    "drifts",
    lambda n, rng: replace(
        draw := _labelled_scores(n, rng, good=0.75, bad=0.45),
        scores=np.clip(draw.scores - 0.3 * (np.arange(n) >= n // 2), 0, 1),
    ),
)
FAULTS["people who err on a quarter"] = (
    "labels-disagree",
    lambda n, rng: _labelled_by(n, rng, (0.25, 0.25, 0.25)),
)
FAULTS["one of three people labels upside down"] = (
    "annotator-disagrees",
    lambda n, rng: _labelled_by(n, rng, (0.05, 0.05, 0.95)),
)


def _labelled_by(n: int, rng: np.random.Generator, errors: tuple[float, ...]) -> Draw:
    good = rng.random(n) < 0.5
    return Draw(good * 1.0, None, None, None, labels_of(good, errors, rng))


def _labelled(
    n: int, rng: np.random.Generator, *, false_accepts: float = 0.01, false_rejects: float = 0.01
) -> Draw:
    labels = rng.random(n) < 0.5
    wrong = rng.random(n) < np.where(labels, false_rejects, false_accepts)
    return Draw((labels ^ wrong) * 1.0, labels, None)


def _labelled_scores(n: int, rng: np.random.Generator, *, good: float, bad: float) -> Draw:
    labels = rng.random(n) < 0.5
    return Draw(np.clip(rng.normal(np.where(labels, good, bad), 0.04), 0, 1), labels, None)


def power(cell: tuple[str, int, int]) -> tuple[str, float, float, float]:
    """How often k is named, how often the verdict then comes with k more rows, and the median k."""
    name, n, runs = cell
    kind, draw = FAULTS[name]
    rng = np.random.default_rng([*name.encode(), n])
    named, came = [], 0
    for _ in range(runs):
        found = {finding.kind: finding for finding in findings_of([draw(n, rng)])}.get(kind)
        if found is None or not found.needed:
            continue
        # If labels of one kind are required, that number of them takes about as many of the other kind.
        more = found.needed * (8 if found.unit == "prompt" else 2 if found.unit.startswith("known") else 1)
        again = {finding.kind: finding for finding in findings_of([draw(n + more, rng)])}.get(kind)
        named.append(more)
        came += again is not None and again.severity in VERDICTS
    share_named = len(named) / runs
    return (
        f"{name}, n={n}",
        share_named,
        came / len(named) if named else math.nan,
        float(np.median(named or [0])),
    )


def causes(cell: tuple[str, int, int]) -> tuple[str, float, str]:
    """How often the planted fault leads the findings about the grader, and what leads otherwise."""
    name, n, runs = cell
    kind, draw = FAULTS[name]
    rng = np.random.default_rng([*name.encode(), n, 1])
    leads: Counter[str] = Counter()
    for _ in range(runs):
        verdicts = [finding for finding in findings_of([draw(n, rng)]) if finding.severity in VERDICTS]
        leads[verdicts[0].kind if verdicts else "nothing"] += 1
    others = ", ".join(f"{lead} {count}" for lead, count in leads.most_common() if lead != kind)
    return f"{name}, n={n:,}", leads[kind] / runs, others


# --- printing ---------------------------------------------------------------------------------------------------------


def main() -> None:
    """Run the simulation and print its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    settings = parser.parse_args()
    runs, start = settings.runs, time.perf_counter()
    with Pool(settings.processes) as pool:
        cells = [
            (name, n, clustered, people, graders, runs if graders == 1 else runs // 4)
            for name in HEALTHY for n in SIZES for clustered in (False, True) for people in LABELLED
            for graders in (1, 10) if (graders == 1 or n in (20, 100)) and (people < 2 or n >= 50)
        ]  # fmt: skip
        report_cells("false verdicts", [
            (ours > 0.05 + two_errors(0.05, cell[-1]), f"{ours:6.1%} seed {seed:6.1%}  {design}  {kinds}")
            for cell, (design, ours, seed, kinds) in zip(cells, pool.imap(false_verdicts, cells, 4), strict=True)
        ])  # fmt: skip
        intervals = [
            (statistic, name, n, clustered, 2 * runs)
            for statistic in ("mean", "difference", "sd", "share") for name in MEANS for clustered in (False, True)
            for n in (2, 5, 10, 20, 50, 200) if statistic != "sd" or n >= 20
        ]  # fmt: skip
        intervals += [
            (statistic, name, n, clustered, 2 * runs)
            for statistic in KAPPAS for name in PEOPLE for clustered in (False, True) for n in (30, 100, 400)
            if not clustered or n >= 100
        ]  # fmt: skip
        report_cells("coverage", [
            (held < 0.94 - two_errors(0.94, 2 * runs), f"{held:6.1%} of {shown:4.0%}  {design}")
            for design, held, shown in pool.imap(coverage, intervals, 4)
        ])  # fmt: skip
        judges = judge_cells(runs)
        report_cells("coverage, panels and ladders", [
            (held < 0.94 - two_errors(0.94, 2 * runs), f"{held:6.1%} of {shown:4.0%}  {design}")
            for design, held, shown in pool.imap(judge_coverage, judges, 4)
        ])  # fmt: skip
        faults = [(name, n, runs) for name in FAULTS for n in (12, 20, 50, 100)]
        report_cells("power at n + k", [
            (named * runs >= 10 and came < 0.9 - two_errors(0.9, round(named * runs)),
             f"named {named:4.0%}, verdict {came:6.1%}, median k {more:,.0f}  {design}")
            for design, named, came, more in pool.imap(power, faults, 2)
        ])  # fmt: skip
        planted = [(name, n, max(20, runs // 4)) for name in FAULTS for n in (100, 1_000)]
        of_judges = tables(pool, runs)
        report_cells("causes", [
            (leads < 0.9 and cell[1] >= 1_000, f"{leads:6.1%}  {design}  {others}")
            for cell, (design, leads, others) in zip(planted, pool.imap(causes, planted, 2), strict=True)
        ])  # fmt: skip
    print(
        f"\n{len(cells) + len(intervals) + len(judges) + len(faults) + len(planted) + of_judges} cells in {time.perf_counter() - start:.0f} s"
    )


if __name__ == "__main__":
    main()
