"""Views used as by a page, without a browser: data, messages of a page, running the shown code."""

from __future__ import annotations

import asyncio

import workbench as wb
from tests.app.view.page import Page
from workbench.app.session.session_labels import DatasetLabels
from workbench.app.session.storage import Storage

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
    """The labels of a dataset, with a separate storage."""
    return DatasetLabels(samples, given, Storage(store), **settings)


def ran(view, n=0, **settings):
    """The session of a view after a run."""
    view.session.runs.start(n, **settings).report(60)
    return view.session


class WidgetPage(Page):
    """The page of a widget: it takes what the widget's comm carries, and its messages come in where a page's do.

    Attributes:
        widget: The widget.
        messages: The state of each message of the comm, as sent.
        replies: What was sent back to pages.
    """

    def __init__(self, widget):
        self.widget = widget
        self.messages, self.replies = [], []
        self._begin({name: getattr(widget, name) for name in widget.keys if not name.startswith("_")})
        widget.comm.send = self._receive

    @property
    def session(self):
        """The session that the widget shows now: other columns or rows continue it in another one."""
        return self.widget.session

    @property
    def view(self):
        """The view of that session."""
        return self.widget.view

    def _receive(self, data=None, **_):
        if data["method"] == "update":
            self.messages.append(data["state"])
            self._take(data["state"])
        elif data["method"] == "custom":
            self.replies.append(data["content"])

    def _hear(self, message):
        self.widget._handle_custom_msg(message, [])
        return self.replies[-1]

    def close(self):
        """Close the widget."""
        self.widget.close()


def gated(gate, name="waits"):
    """A grader that waits for a gate to open."""

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
