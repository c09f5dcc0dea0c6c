"""Latency of the app's kernel from a click, or a changed text, to the message that shows the result, by number of rows.

Run it with `python benchmarks/panels.py [--rows 1000 10000 100000] [--rounds 3]`. Time is what the kernel takes between a page's
message and the resulting state; drawing in a browser is added to it, and does not grow with the rows, since a page gets a
window of rows. The base of an edit is the time for grading the same text alone, in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import pandas as pd

import workbench as wb
from workbench.app.session.session import Session
from workbench.app.view.app import AppView
from workbench.data.samples.row_drawing import known_words

CONTAINS = """async def grade(thread):
    expected = (thread.metadata or {}).get("expected", "")
    return 1.0 if expected and expected in (thread.completion() or "")[:LIMIT] else 0.0
"""
CLOSENESS = """import re


async def grade(thread):
    numbers = re.findall(r"-?\\d+(?:\\.\\d+)?", thread.completion() or "")
    expected = float((thread.metadata or {}).get("expected", "0"))
    return max(0.0, 1.0 - abs(float(numbers[-1]) - expected) / max(1.0, abs(expected)))
"""


def samples(n: int) -> wb.Samples:
    """The bundled word problems, repeated as needed, each time with different prompts."""
    frame = wb.demo_samples("arithmetic").frame
    rows = pd.concat([frame] * (n // len(frame) + 1), ignore_index=True).head(n)
    groups = [f"{group} {at // len(frame)}" for at, group in enumerate(rows["group"])]
    return wb.Samples(rows.assign(id=[f"row {at}" for at in range(n)], group=groups))


def text(limit: int) -> str:
    """The grader's text in one of many versions."""
    return CONTAINS.replace("LIMIT", str(limit))


class Page:
    """A page on one session over n rows.

    Args:
        data: The rows.
    """

    def __init__(self, data: wb.Samples) -> None:
        graders = [
            wb.FunctionGrader.from_source(text(10_000), name="contains"),
            wb.FunctionGrader.from_source(CLOSENESS, name="closeness"),
            wb.ExactMatch(name="exact"),
        ]
        self.state: dict[str, Any] = {}
        self.sent, self.seq = 0, 0
        self.changed = threading.Condition()
        self.session = Session(data, graders, labels="good", store=None)
        self.view = AppView(self.session, self.take)

    def take(self, changed: dict[str, Any]) -> None:
        with self.changed:
            self.sent += len(json.dumps(changed))
            self.state |= changed
            self.changed.notify_all()

    def tell(self, **message: Any) -> None:
        self.view.on_message({"id": 1, "page": "p", **message})

    def wait(self, holds: Callable[[], Any]) -> None:
        with self.changed:
            while not holds():
                self.changed.wait(0.01)

    def settle(self) -> None:
        self.wait(lambda: self.session.live.idle and self.view.actions.idle)

    def open(self) -> None:
        """All rows drawn and graded, and the words in all rows read, as some seconds after a page opened."""
        self.tell(do="draw", draw={"n": 0})
        self.tell(do="open")
        self.settle()
        self.wait(lambda: known_words(self.view.graded.report.samples) is not None)

    def edit(self) -> None:
        self.seq += 1
        self.tell(do="edit", name="contains", text=text(40 + self.seq), seq=self.seq)
        self.wait(lambda: self.state["chosen"]["seq"] == self.seq)

    def window(self) -> None:
        middle, revision = self.state["table"]["count"] // 2, self.state["table"]["revision"]
        self.view.on_message(
            {"ask": "rows", "start": middle, "stop": middle + 60, "revision": revision, "id": 1, "page": "p"}
        )

    def read(self) -> None:
        """Open another row each time."""
        self.seq += 1
        self.tell(do="select", row=self.seq)

    @property
    def actions(self) -> dict[str, Callable[[], object]]:
        segment = [{"label": False}, {"grader": "contains", "passed": True}]
        return {
            "edit": self.edit,
            "click a bar": lambda: self.tell(do="look", where=segment),
            "all rows": lambda: self.tell(do="look", where=[]),
            "search words": lambda: self.tell(do="search", text="euros"),
            "end the search": lambda: self.tell(do="search", text=""),
            "sort by completion": lambda: self.tell(do="sort", key="answer", descending=False),
            "sort by the score": lambda: self.tell(do="sort", key="score", descending=True),
            "scroll to the middle": self.window,
            "read a row": self.read,
            "filter by a column": lambda: self.tell(do="look", where=[{"column": "writer", "is": "gamer"}]),
            "another grader": lambda: self.tell(do="choose", name="closeness"),
            "and back": lambda: self.tell(do="choose", name="contains"),
        }


def timed(action: Callable[[], object]) -> float:
    """Seconds an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(n: int, rounds: int) -> None:
    data = samples(n)
    opened: list[Page] = []
    first = timed(lambda: opened.append(Page(data)))
    page = opened[0]
    page.open()
    print(f"\n{n:,} rows")
    print(f"{'open':<24}{1000 * first:>9.0f} ms")
    base = wb.FunctionGrader.from_source(text(39), name="alone")
    alone = statistics.median(timed(lambda: base.run(data, progress=False)) for _ in range(rounds))
    print(f"{'(grading alone)':<24}{1000 * alone:>9.0f} ms")
    seconds: dict[str, list[float]] = {name: [] for name in page.actions}
    sizes = dict.fromkeys(page.actions, 0)
    for _ in range(rounds):  # one after the other: the same action twice would change nothing
        for name, action in page.actions.items():
            page.sent = 0
            seconds[name].append(timed(action))
            page.settle()
            sizes[name] = max(sizes[name], page.sent)
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        ratio = f"{middle / alone:>8.1f} x grading alone" if name == "edit" else ""
        print(f"{name:<24}{1000 * middle:>9.0f} ms{sizes[name]:>10,} bytes{ratio}")
    page.view.close()
    page.session.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    for n in asked.rows:
        measure(n, asked.rounds)


if __name__ == "__main__":
    main()
