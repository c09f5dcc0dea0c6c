"""Whether the verdicts and intervals of `wb.certify` are true: a simulation with known truth; `verdicts.py` runs it, too.

Run it with `python benchmarks/certifying.py [--runs 400] [--processes 2]`. Seven tables:

* false "certified": a judge with one rate, or both, exactly at the limit, with 20, 50 and 200 rows of each label, also 4 rows per
  prompt, and with up to three looks. Target: at most 5 %.
* false "not certified": the same judges, and better ones. Target: at most 5 % at a first look, 10 % in all looks.
* power at k: if a judge is undecided and k more rows are named, how often they decide it. Target: 90 % for rates that are at
  least 0.1 from the limit.
* label plan: how often the planned rows certify a judge whose rates are 0.95. Target: 90 %.
* corrected rates: coverage of both 95 % intervals, and of Rogan-Gladen how often it is refused. Target: 94 %.
* whole certifications: a check that fails, of stored verdicts that depend on the label alone, with writers, topics, lengths and
  refusals. Target: at most 5 %.
* comparisons of parts: false FAIL of a judge that is as good on four parts, and coverage of the difference. Targets: 5 %, 94 %.

A cell misses if its figure is past the target by more than two standard errors of the simulation.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from multiprocessing import Pool
from typing import Any

import numpy as np
from numpy.typing import NDArray

import workbench as wb
from workbench.analysis.statistics.certification import (
    ShareGap,
    level_of_look,
    more_rows,
    p_reaches,
    predicted_mean,
    reaches,
    rows_needed,
    supposed_rate,
)
from workbench.analysis.statistics.confusion import Confusion, corrected_rate
from workbench.analysis.statistics.means import Share, share
from workbench.probes.certification.verdict import label_plan

LIMIT = 0.80
SIZES = (20, 50, 200)
RATES = {
    "TPR at the limit, TNR 1.00": (0.8, 1.0),
    "both at the limit": (0.8, 0.8),
    "0.90 and 0.95": (0.9, 0.95),
    "both 0.98": (0.98, 0.98),
}
ALIKE = 4  # rows per prompt, if rows share prompts
JUDGES = {
    "0.95, 0.95": (0.95, 0.95),
    "0.90, 0.80": (0.9, 0.8),
    "0.80, 0.90": (0.8, 0.9),
    "1, 1": (1.0, 1.0),
    "0.60, 0.60": (0.6, 0.6),
    "0.99, 0.60": (0.99, 0.6),
}
OTHERS = 1_000  # unlabelled rows

Cell = tuple[Any, ...]


@lru_cache(maxsize=4_096)
def _share(hits: int, n: int) -> Share:
    return share(np.arange(n) < hits)


def _drawn(rate: float, n: int, rng: np.random.Generator, *, clustered: bool) -> Share:
    """Rows with hits; of a prompt's rows half are copies of its first."""
    if not clustered:
        return _share(int(rng.binomial(n, rate)), n)
    groups = np.arange(n) // ALIKE
    copied = rng.random(n) < 0.5
    first = rng.random(-(-n // ALIKE)) < rate
    return share(np.where(copied, first[groups], rng.random(n) < rate), groups)


def verdicts(cell: Cell) -> tuple[str, float, float]:
    """Shares of runs that are certified, and that are shown to be below the limit."""
    name, n, clustered, looks, runs = cell
    rng = np.random.default_rng([*name.encode(), n, clustered, looks])
    rates, certified, below = RATES[name], 0, 0
    for _ in range(runs):
        hits = [0, 0]
        for look in range(1, looks + 1):
            level = level_of_look(look)
            if looks == 1:
                parts = [_drawn(rate, n, rng, clustered=clustered) for rate in rates]
            else:  # as many rows again at each look, all of which count
                hits = [one + int(rng.binomial(n, rate)) for one, rate in zip(hits, rates, strict=True)]
                parts = [_share(one, n * look) for one in hits]
            if all(reaches(part, LIMIT, level) for part in parts):
                certified += 1
                break
            if any(p_reaches(part, LIMIT) <= level for part in parts):
                below += 1
                break
    unit = (
        f"{n} rows of each label"
        + (f", {ALIKE} per prompt" if clustered else "")
        + (f", up to {looks} looks" if looks > 1 else "")
    )
    return f"{name}, {unit}", certified / runs, below / runs


def power(cell: Cell) -> tuple[str, float, float, float]:
    """How often k is named, how often k more rows decide, and the median k."""
    rate, n, runs = cell
    rng = np.random.default_rng([round(100 * rate), n])
    plans: dict[int, int | None] = {}
    named, decided, undecided = [], 0, 0
    for _ in range(runs):
        hits = int(rng.binomial(n, rate))
        if _is_decided(hits, n):
            continue
        undecided += 1
        more = plans.setdefault(hits, more_rows(hits, n, LIMIT) if hits not in plans else None)
        if more is not None:
            named.append(more)
            decided += _is_decided(hits + int(rng.binomial(more, rate)), n + more)
    found = decided / len(named) if named else math.nan
    return f"rate {rate:.2f}, {n} rows", len(named) / max(1, undecided), found, float(np.median(named or [0]))


def _is_decided(hits: int, n: int) -> bool:
    part = _share(hits, n)
    return reaches(part, LIMIT) or p_reaches(part, LIMIT) <= level_of_look(1)


def plan(cell: Cell) -> tuple[str, float]:
    """How often the planned rows certify a judge whose rates are 0.95."""
    limit, runs = cell
    rng = np.random.default_rng(round(100 * limit))
    needed = {label: n or 0 for label, n in label_plan((limit, limit)).items()}
    rate = supposed_rate(limit)
    done = [
        all(reaches(_share(int(rng.binomial(n, rate)), n), limit) for n in needed.values())
        for _ in range(runs)
    ]
    return (
        f"limit {limit:.2f}: {needed['good']} good and {needed['bad']} bad rows, one rate alone {rows_needed(rate, limit)}",
        float(np.mean(done)),
    )


def corrected(cell: Cell) -> tuple[str, float, float, float, float]:
    """Coverage and mean width of the predicted mean; coverage of Rogan-Gladen, and how often there is one."""
    name, share_good, n, clustered, runs = cell
    rng = np.random.default_rng([*name.encode(), round(100 * share_good), n, clustered])
    tpr, tnr = JUDGES[name]
    held = [0, 0]
    shown, width = 0, 0.0
    for _ in range(runs):
        truth, groups = _truth(share_good, n + OTHERS, rng, clustered=clustered)
        passed = np.where(truth, rng.random(len(truth)) < tpr, rng.random(len(truth)) >= tnr)
        known = np.arange(len(truth)) < n
        low, high = predicted_mean(passed.astype(float), np.where(known, truth, np.nan), groups).interval()
        held[0] += low <= share_good <= high
        width += (high - low) / runs
        inside = None if groups is None else groups[:n]
        confusion = Confusion(truth[:n], passed[:n], inside)
        low, high = corrected_rate(
            share(passed, groups), confusion.sensitivity, confusion.specificity
        ).interval()
        shown += not math.isnan(low)
        held[1] += low <= share_good <= high
    unit = f"{n} labels" + (f", {ALIKE} per prompt" if clustered else "")
    design = f"TPR, TNR {name}, {share_good:.0%} good, {unit}"
    return design, held[0] / runs, width, held[1] / shown if shown else math.nan, shown / runs


def _truth(
    share_good: float, n: int, rng: np.random.Generator, *, clustered: bool
) -> tuple[NDArray[np.bool_], NDArray[np.intp] | None]:
    if not clustered:
        return rng.random(n) < share_good, None
    groups = np.arange(n) // ALIKE
    first = rng.random(-(-n // ALIKE)) < share_good
    return np.where(rng.random(n) < 0.4, first[groups], rng.random(n) < share_good), groups


def parts(cell: Cell) -> tuple[str, float, float]:
    """False FAIL of a judge that errs as much on each of four parts, and coverage of one difference."""
    error, n, runs = cell
    rng = np.random.default_rng([round(100 * error), n])
    failed = held = 0
    for _ in range(runs):
        wrong = rng.binomial(n, error, 4)
        gaps = [ShareGap(_share(int(one), n), _share(int(wrong.sum() - one), 3 * n)) for one in wrong]
        failed += min(gap.p_above(0.1) for gap in gaps) * len(gaps) <= 0.05
        low, high = gaps[0].interval()
        held += low <= 0 <= high
    return f"errs on {error:.0%}, {n} rows of each of 4 parts", failed / runs, held / runs


def whole(cell: Cell) -> tuple[str, float, str]:
    """How often a check fails for a judge whose mistakes depend on the label alone, and which ones."""
    tpr, tnr, n, per_prompt, runs = cell
    rng = np.random.default_rng([round(100 * tpr), round(100 * tnr), n, per_prompt])
    failed: Counter[str] = Counter()
    alarms = 0
    for _ in range(runs):
        rows = [_row(at, tpr, tnr, per_prompt, rng) for at in range(n)]
        found = wb.certify("verdict", rows, labels="good", compare="language", progress=False)
        failed.update(check.name for check in found.failed)
        alarms += bool(found.failed)
    kinds = ", ".join(f"{name} {count}" for name, count in failed.most_common(3))
    return f"TPR {tpr:.2f}, TNR {tnr:.2f}, {n} rows, {per_prompt} per prompt", alarms / runs, kinds


def _row(at: int, tpr: float, tnr: float, per_prompt: int, rng: np.random.Generator) -> dict[str, Any]:
    good = bool(rng.random() < 0.5)
    is_refusal = not good and rng.random() < 0.2
    text = "I'm sorry, but I can't help." if is_refusal else "word " * int(rng.integers(3, 200))
    return {
        "prompt": f"prompt {at // per_prompt}", "completion": f"{text} {at}", "good": good,
        "verdict": bool(rng.random() < tpr if good else rng.random() >= tnr), "writer": "abcd"[int(rng.integers(4))],
        "topic": "xyz"[int(rng.integers(3))], "language": ("en", "de")[int(rng.integers(2))],
    }  # fmt: skip


def two_errors(rate: float, runs: int) -> float:
    """Twice the standard error of a rate near its target."""
    return 2 * math.sqrt(max(rate * (1 - rate), 0.01) / max(1, runs))


def report_cells(title: str, lines: Iterable[tuple[bool, str]]) -> None:
    """Print a table: whether each cell misses its target, and its figures."""
    printed = list(lines)
    misses = sum(missed for missed, _ in printed)
    print(f"\n{title}: {misses} of {len(printed)} cells miss")
    for missed, line in printed:
        print(f"{'  MISS ' if missed else '       '}{line}")


def tables(pool: Any, runs: int) -> int:
    """Print the seven tables.

    Args:
        pool: Processes.
        runs: Simulated certifications of each cell.

    Returns:
        Number of cells.
    """
    many = 10 * runs
    cells: list[Cell] = [(name, n, False, looks, many) for name in RATES for n in SIZES for looks in (1, 3)]
    cells += [(name, n, True, 1, runs) for name in RATES for n in SIZES]
    found = list(pool.imap(verdicts, cells, 2))
    at_limit = [name for name, rates in RATES.items() if LIMIT in rates]
    report_cells('false "certified"', [
        (certified > 0.05 + two_errors(0.05, cell[-1]), f"{certified:6.2%}  {design}")
        for cell, (design, certified, _) in zip(cells, found, strict=True) if cell[0] in at_limit
    ])  # fmt: skip
    report_cells('false "not certified"', [
        (below > (0.05 if cell[3] == 1 else 0.1) + two_errors(0.05, cell[-1]), f"{below:6.2%} (certified {certified:6.2%})  {design}")
        for cell, (design, certified, below) in zip(cells, found, strict=True)
    ])  # fmt: skip
    plans: list[Cell] = [(rate, n, many) for n in SIZES for rate in (0.5, 0.6, 0.7, 0.85, 0.9, 0.95, 0.98)]
    report_cells("power at k", [
        (abs(cell[0] - LIMIT) >= 0.1 - 1e-9 and named * cell[-1] >= 50 and came < 0.9 - two_errors(0.9, round(named * cell[-1])),
         f"named {named:4.0%}, decided {came:6.1%}, median k {more:,.0f}  {design}")
        for cell, (design, named, came, more) in zip(plans, pool.imap(power, plans, 1), strict=True)
    ])  # fmt: skip
    limits: list[Cell] = [(limit, many) for limit in (0.7, 0.8, 0.9)]
    report_cells(
        "label plan",
        [
            (done < 0.9 - two_errors(0.9, many), f"{done:6.1%}  {design}")
            for design, done in pool.imap(plan, limits)
        ],
    )
    rates: list[Cell] = [
        (name, share_good, n, clustered, runs) for name in JUDGES for share_good in (0.1, 0.5, 0.9) for n in SIZES
        for clustered in (False, True) if not clustered or n > 20
    ]  # fmt: skip
    report_cells("corrected rates: predicted, Rogan-Gladen", [
        (min(held, math.inf if math.isnan(other) or shown * runs < 50 else other) < 0.94 - two_errors(0.94, runs),
         f"{held:6.1%} (width {width:.2f}) {other:6.1%} of {shown:4.0%}  {design}")
        for design, held, width, other, shown in pool.imap(corrected, rates, 2)
    ])  # fmt: skip
    judged: list[Cell] = [
        (tpr, tnr, n, per_prompt, max(20, runs // 8)) for tpr, tnr in ((0.95, 0.95), (0.85, 0.85), (0.98, 0.8))
        for n in (100, 300) for per_prompt in (1, 4)
    ]  # fmt: skip
    report_cells("whole certifications: a check fails", [
        (failed > 0.05 + two_errors(0.05, cell[-1]), f"{failed:6.2%}  {design}  {kinds}")
        for cell, (design, failed, kinds) in zip(judged, pool.imap(whole, judged, 1), strict=True)
    ])  # fmt: skip
    same: list[Cell] = [(error, n, runs) for error in (0.02, 0.1, 0.3) for n in SIZES]
    report_cells("parts: false FAIL, coverage", [
        (failed > 0.05 + two_errors(0.05, runs) or held < 0.94 - two_errors(0.94, runs), f"{failed:6.2%} {held:6.1%}  {design}")
        for design, failed, held in pool.imap(parts, same, 1)
    ])  # fmt: skip
    return len(cells) + len(plans) + len(limits) + len(rates) + len(judged) + len(same)


def main() -> None:
    """Run the simulation and print its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--processes", type=int, default=2)
    settings = parser.parse_args()
    start = time.perf_counter()
    with Pool(settings.processes) as pool:
        count = tables(pool, settings.runs)
    print(f"\n{count} cells in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
