"""The chart's Python side: what it sends, what it hears, and what it forgets."""

import gzip
import json

import plotly.graph_objects as go
import pytest
from ipywidgets.widgets import widget

from workbench.widgets.views.assets import static
from workbench.widgets.views.chart import Chart


@pytest.fixture
def sent(monkeypatch):
    found = []
    monkeypatch.setattr(
        Chart, "send", lambda self, content, buffers=None: found.append((content, buffers or []))
    )
    return found


def bars(count=3):
    return go.Figure(go.Bar(x=list(range(count)), y=list(range(count)), customdata=[[{"rows": [1]}]] * count))


def test_figure_is_the_state_without_template():
    """The whole figure is in one trait, without the template that would make it white."""
    chart = Chart(bars(), label="scores")
    spec = json.loads(chart.spec)
    assert spec["data"][0]["customdata"][0] == [{"rows": [1]}]
    assert "template" not in spec["layout"]
    assert len(chart.spec) < 1000
    assert chart.figure.data[0].y == (0, 1, 2)


def test_arrays_travel_as_lists():
    """Numbers given as arrays are readable by the page's own code, and what is no number is null."""
    numpy = pytest.importorskip("numpy")
    chart = Chart(
        go.Figure(go.Scatter(y=numpy.array([1.0, numpy.nan]), customdata=numpy.array([[0, 1], [1, 2]])))
    )
    trace = json.loads(chart.spec)["data"][0]
    assert (trace["y"], trace["customdata"]) == ([1.0, None], [[0, 1], [1, 2]])


def test_no_figure_is_no_drawing():
    """Without a figure there is nothing to draw, and a figure can be taken away again."""
    chart = Chart(bars())
    chart.figure = None
    assert (chart.spec, chart.figure) == ("", None)


def test_pick_sets_the_attribute_and_calls_back(sent):
    """What a page picked is told to callbacks and readable; clearing tells an empty list."""
    chart, heard = Chart(bars()), []
    chart.on_pick(heard.append)
    chart._handle_custom_msg({"do": "pick", "picks": [[{"rows": [1]}]]}, [])
    assert chart.picked == [[{"rows": [1]}]]
    chart._handle_custom_msg({"do": "pick", "picks": []}, [])
    assert heard == [[[{"rows": [1]}]], []]
    assert chart.picked == []


def test_picking_by_code_is_silent():
    """Setting the attribute marks, but does not call back: a panel must not talk to itself."""
    chart, heard = Chart(bars()), []
    chart.on_pick(heard.append)
    chart.picked = [[{"rows": [1]}]]
    assert heard == []


@pytest.mark.parametrize(
    "message", [{}, {"do": "pick"}, {"do": "pick", "picks": "x"}, {"ask": "other"}, [], "x", None, 3]
)
def test_messages_without_sense_are_ignored(sent, message):
    """A page cannot disturb the kernel with a message nobody knows."""
    chart, heard = Chart(bars()), []
    chart.on_pick(heard.append)
    chart._handle_custom_msg(message, [])
    assert (heard, sent, chart.picked) == ([], [], [])


def test_error_of_a_callback_is_not_swallowed():
    """A callback that fails is heard of where the message came in; guards are the panels' own."""
    chart = Chart(bars())
    chart.on_pick(lambda _picks: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        chart.hear({"do": "pick", "picks": [1]})


def test_plotly_is_sent_on_request_only(sent):
    """The library is no part of the state; asked for, it comes compressed, and as the package has it."""
    from plotly.offline import get_plotlyjs

    chart = Chart(bars())
    assert sum(len(str(value)) for value in chart.get_state().values()) < 60_000
    chart._handle_custom_msg({"ask": "plotly"}, [])
    content, [packed] = sent[0]
    assert content == {"tell": "plotly"}
    assert gzip.decompress(packed).decode() == get_plotlyjs()
    assert len(packed) < 2_000_000


@pytest.mark.parametrize(
    "name", ["dom.js", "load.js", "chart.js", "reader.js", "grid.js", "table.js", "card.js"]
)
def test_scripts_know_no_markup_and_no_other_host(name):
    """Texts of a dataset can only ever be set as text, and nothing is loaded from anywhere."""
    text = static(name)
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "http:",
        "https:",
        "eval(",
    ):
        assert word not in text


def test_chart_is_short_and_leaves_nothing_behind():
    """The repr says the label, the same each time; a closed chart has no model left."""
    chart = Chart(bars(), label="scores")
    assert (repr(chart), repr(Chart())) == ("Chart('scores')", "Chart()")
    ids = {chart.model_id, chart.layout.model_id}
    chart.close()
    assert not ids & set(widget._instances)
