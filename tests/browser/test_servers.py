"""Every front end we name runs our notebooks: Notebook 7, and Voila on its own and inside JupyterLab."""

from __future__ import annotations

import pytest

from tests.browser import voila as app
from tests.browser.lab import wait_until
from tests.browser.page import opened

CELLS = [
    "import threading\nimport anywidget, ipywidgets as w, traitlets as t",
    """class Probe(anywidget.AnyWidget):
    _esm = '''export default { render({ model, el }) {
      const draw = () => { el.textContent = 'probe ' + model.get('n'); };
      el.className = 'wb-probe'; model.on('change:n', draw); draw();
    } }'''
    n = t.Int().tag(sync=True)""",
    """button, status, probe = w.Button(description="Press"), w.HTML("<b>waiting</b>"), Probe(n=1)
button.add_class("wb-press"); status.add_class("wb-status")
def press(_):
    status.value, probe.n = "<b>pressed</b>", probe.n + 1
button.on_click(press)
w.VBox([button, status, probe])""",
]


def press(view):
    """Press the button and see both widgets change."""
    view.wait_text(".wb-probe", "probe 1")
    view.click(".wb-press")
    view.wait_text(".wb-status", "pressed")
    view.wait_text(".wb-probe", "probe 2")
    assert view.trouble.console == []
    assert view.trouble.strangers == []


@pytest.mark.parametrize("name", ["01_quickstart.ipynb"])
def test_notebook_7_runs_the_quickstart(browser, notebook7, name):
    """All cells run without an error, the chart is drawn, the page is quiet and stays at home."""
    with opened(browser, notebook7, name) as notebook:
        notebook.run_all()
        assert notebook.errors() == []
        assert all(cell["execution_count"] for cell in notebook.cells())
        chart = notebook.find(".js-plotly-plot:has(.main-svg)").first
        chart.wait_for()
        notebook.sound("notebook7-quickstart", chart, of=chart)
        assert notebook.trouble.console == []
        assert notebook.trouble.strangers == []


def test_notebook_7_answers_a_click(browser, notebook7):
    """A button's callback changes a control and an anywidget."""
    with opened(browser, notebook7, notebook7.write("tiny.ipynb", CELLS)) as notebook:
        notebook.run_all()
        press(notebook)


def test_voila_answers_a_click(browser, voila):
    """The app of a notebook works without code in view; its known request to a CDN finds nobody."""
    server = voila("tiny.ipynb", cells=CELLS)
    with app.opened(browser, server) as page:
        press(page)
        assert page.errors() == []
        assert page.find(".jp-InputArea").count() == 0
        page.sound("voila-tiny", ".wb-press", ".wb-status", ".wb-probe")
        assert page.trouble.known
        assert len(server.processes()) == 1
    wait_until(lambda: not server.processes(), what="the app's kernel ends")


def test_voila_shows_errors(browser, voila):
    """A cell that fails is seen by the harness."""
    with app.opened(browser, voila("broken.ipynb", cells=["print('so far')", "1 / 0"])) as page:
        page.wait_text("pre", "so far")
        assert "ZeroDivisionError" in "".join(page.errors())


def test_jupyterlab_serves_the_app(browser, lab):
    """Binder's link to the app, `/voila/render/NAME`, works in JupyterLab's own server, in the dark as well."""
    with app.opened(browser, lab, lab.write("tiny-app.ipynb", CELLS), dark=True) as page:
        press(page)
        assert page.errors() == []
        assert page.page.evaluate("() => document.body.dataset.jpThemeLight") == "false"
        page.picture("voila-tiny-dark")


@pytest.mark.parametrize("host", ["elsewhere.example", "192.0.2.1", "localhost:20001"])
def test_other_hosts_are_noted_and_not_found(browser, host):
    """Whatever a page asks of another host is a stranger, and it gets nothing from there."""
    from tests.browser.page import View

    context = browser.new_context()
    view = View(context.new_page(), "nowhere")
    failed = []
    view.page.on("requestfailed", lambda request: failed.append(request.failure))
    view.page.set_content(f"<img src='http://{host}/picture.png'>")
    view.until("() => document.images[0].complete")
    wait_until(lambda: view.page.evaluate("1") and failed, what="the request fails")
    assert view.trouble.strangers == [f"http://{host}/picture.png"]
    assert failed == ["net::ERR_NAME_NOT_RESOLVED"]
    context.close()


def test_sound_refuses_an_empty_picture(browser):
    """An empty page, an element without size and one that covers another are all named."""
    from tests.browser.page import View

    context = browser.new_context()
    view = View(context.new_page(), "nowhere")
    with pytest.raises(AssertionError, match="only 1 colours"):
        view.sound("empty")
    view.page.set_content(
        "<p class=a style='height:40px;background:linear-gradient(red,blue)'>one</p><p class=b style='width:0'></p>"
        "<p class=c style='margin-top:-60px;height:40px'>over <i class=d>it</i></p>"
    )
    view.sound("gradient", ".a")
    view.sound("gradient", ".c", ".d")
    with pytest.raises(AssertionError, match=r"without size: .*p\.b"):
        view.sound("gradient", ".b")
    with pytest.raises(AssertionError, match=r"p\.a and p\.c overlap"):
        view.sound("gradient", ".a", ".c")
    with pytest.raises(AssertionError, match="nothing there"):
        view.sound("gradient", ".none")
    context.close()
