"""Panels used as a person uses them, without a browser: data, waiting on what is shown, running the code that is told."""

from __future__ import annotations

import asyncio
import threading

import workbench as wb
from workbench.session.labels import DatasetLabels
from workbench.session.storage import Storage

ROWS = [
    {
        "id": f"row-{n}",
        "prompt": f"question {n}",
        "completion": "yes" if n % 2 else f"no, {n}",
        "expected": "yes" if n % 3 else "no",
        "good": bool(n % 2),
        "group": f"g{n % 4}",
    }
    for n in range(24)
]

GRADERS = (
    wb.Contains(expected="yes", name="has yes"),
    wb.ExactMatch(name="exact"),
    wb.Length(maximum=3, name="short"),
)

TAGS = ("<script>", "<img src=x onerror=", "<svg/onload", "<b title='")
NASTY = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)><b title='\u202egnp.exe"
)
"""Markup, quotes that would end an attribute, and a character that turns the direction round."""

HALF = "async def grade(thread):\n    return 0.5\n"
BROKEN = "async def grade(thread):\n    return missing\n"
WRONG = "async def grade(thread):\n    answer = thread.completion()\n    return {}[answer]\n"


def app_of(graders=GRADERS, samples=ROWS, **settings):
    """A Workbench whose store is in memory."""
    return wb.Workbench(samples, list(graders), **{"store": None, **settings})


def labels_of(samples, given=None, store=None, **settings):
    """The labels of a dataset, with a storage of their own."""
    return DatasetLabels(samples, given, Storage(store), **settings)


def ran(view, n=0, **settings):
    """The session of a view after a run."""
    view.session.runs.start(n, **settings).report(60)
    return view.session


def until(widget, name, holds):
    """Wait, on the trait's own news, until it meets a condition; its value."""
    seen = threading.Event()

    def look(change):
        if holds(change["new"]):
            seen.set()

    widget.observe(look, name)
    if not holds(getattr(widget, name)):
        assert seen.wait(600), f"{name} is {getattr(widget, name)!r}"
    widget.unobserve(look, name)
    return getattr(widget, name)


def tried(panel, *graders):
    """What Try shows when these graders (all by default) have answered."""
    waits = graders or panel.session.graders.chosen
    return until(panel.results, "value", lambda _: all(name in panel.grades for name in waits))


def gated(gate, name="waits"):
    """A grader that waits for somebody to open the gate."""

    async def wait(thread):
        while not gate.is_set():
            await asyncio.sleep(0.01)
        return 1.0

    return wb.CustomGrader(wait, name=name)


def repeated(app, name=None):
    """Run the code that the app shows in a namespace as the next cell has it; a name's value out of it."""
    space = {"wb": wb, "app": app}
    exec(app.session.code.text, space)
    return space.get(name) if name else space


def valued(app):
    """The value of the last line of the code that the app shows."""
    *lines, last = app.session.code.text.splitlines()
    space = {"wb": wb, "app": app}
    exec("\n".join(lines), space)
    return eval(last, space)


class AppOf:
    """What the code of a panel alone calls `app`."""

    def __init__(self, panel):
        self.session, self.samples = panel.session, panel.session.samples
        self.graders = panel.session.graders.by_name

    @property
    def suite(self):
        """The chosen graders."""
        return self.session.graders.chosen_suite()
