"""What the Workbench's panels take with many rows, against the same with few in the same run.

Run it with `python benchmarks/panels.py [--few 1000] [--many 100000] [--rounds 3]`. Time is what Python takes between a
click and the last message; bytes are what a page is sent. Bytes must not grow with the rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from ipywidgets import Widget

import workbench as wb
from workbench.plots import FIGURES

GRADERS = 20


def samples(n: int) -> wb.Samples:
    """Answers of some hundred kinds to prompts of eight."""
    truth = np.random.default_rng(0).random(n) < 0.5
    rows = {
        "prompt": [f"question {at // 8}" for at in range(n)],
        "completion": [f"answer {at % 97}, yes" if at % 3 else "no" for at in range(n)],
        "expected": ["yes"] * n,
        "good": truth,
    }
    return wb.read_samples(pd.DataFrame(rows))


def weight(widget: Widget) -> int:
    """Bytes of a widget's state, with all it holds."""
    children = getattr(widget, "children", ())
    return len(json.dumps(widget.get_state(), default=str)) + sum(map(weight, children))


class Session:
    """One app over n rows, and what a person does in it.

    Args:
        n: Rows.
    """

    def __init__(self, n: int) -> None:
        graders = [wb.Contains(), wb.ExactMatch(), wb.Length(maximum=5)]
        graders += [wb.Contains(expected=f"{at}", name=f"has {at}") for at in range(GRADERS - len(graders))]
        self.app = wb.Workbench(samples(n), graders, labels="good", store=None)
        self.app.session.runs.start(0).report()
        while self.app.session.runs.running:
            time.sleep(0.001)
        self.results = self.app.panel(wb.widgets.ResultsPanel)
        self.label = self.app.panel(wb.widgets.LabelPanel)
        self.compare = self.app.panel(wb.widgets.ComparePanel)
        self.sent = 0
        self.results.table.send = lambda message, _=None: self.count(message)

    def count(self, message: object) -> None:
        self.sent += len(json.dumps(message, default=str))

    def draw(self, name: str) -> None:
        """A figure from a report that was never drawn, but whose findings are known as after a run."""
        report = replace(self.app.session.results.report)
        report.__dict__["findings"] = self.app.session.results.report.findings
        FIGURES[name].draw(report, None)

    def table(self, **message: object) -> None:
        self.results.table.hear({**message, "version": self.results.table.version})

    @property
    def actions(self) -> dict[str, Callable[[], object]]:
        results = self.app.session.results
        drawn = {f"figure: {kind.title}": partial(self.draw, kind.name) for kind in FIGURES.values()}
        return {
            "findings": lambda: replace(results.report).findings,
            **drawn,
            "show the results": self.results.refresh,
            "click a bar": lambda: results.look({"grader": "contains", "score": [0.95, 1]}),
            "all rows": results.look,
            "scroll to the middle": lambda: self.table(ask="rows", start=100, stop=200),
            "sort by a score": lambda: self.table(ask="sort", key="score 0", descending=True),
            "read a row": lambda: self.table(do="select", at=5),
            "search words": lambda: results.look({"text": "answer 7,"}),
            "label a row": lambda: self.label.card.decide("good"),
            "compare two": self.compare.refresh,
        }


def measure(session: Session, action: Callable[[], object]) -> tuple[float, int]:
    """Seconds, and bytes the table sends."""
    session.sent, start = 0, time.perf_counter()
    action()
    return time.perf_counter() - start, session.sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--few", type=int, default=1_000)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    few, many = Session(asked.few), Session(asked.many)
    print(
        f"{'what':<22}{f'{asked.few:,} rows':>14}{f'{asked.many:,} rows':>16}{'x':>7}{'bytes':>10}{'bytes':>10}"
    )
    for name in few.actions:
        runs = [[measure(one, one.actions[name]) for _ in range(asked.rounds)] for one in (few, many)]
        fast, slow = (statistics.median(seconds for seconds, _ in run) for run in runs)
        sizes = [run[-1][1] for run in runs]
        print(
            f"{name:<22}{1000 * fast:>11.1f} ms{1000 * slow:>13.1f} ms{slow / fast:>7.1f}{sizes[0]:>10,}{sizes[1]:>10,}"
        )
    print(f"state of the app: {weight(few.app):,} and {weight(many.app):,} bytes")


if __name__ == "__main__":
    main()
