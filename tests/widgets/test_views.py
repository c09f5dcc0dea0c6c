"""What our own widgets share."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.widgets.views.view import View

VIEWS = ("Chart", "ScoreTable", "SourceView", "ThreadView")


@pytest.fixture
def view():
    """A view that keeps what it hears."""

    class Ear(View):
        _esm = "export default {}"

        def hear(self, message):
            heard.append(message)

    heard = []
    made = Ear()
    made.heard = heard
    yield made
    made.close()


def test_a_message_is_heard_once_and_nonsense_is_not(view):
    """What a page sends reaches `hear` when it is an object; anything else is dropped."""
    for sent in ({"ask": "text"}, None, 3, "ask", ["ask"]):
        view._handle_custom_msg(sent, [])
    assert view.heard == [{"ask": "text"}]


@pytest.mark.parametrize("name", VIEWS)
def test_close_leaves_nothing(name):
    """A view takes its layout along."""
    one = getattr(wb.widgets, name)()
    layout = one.layout
    one.close()
    assert (one.comm, layout.comm) == (None, None)
