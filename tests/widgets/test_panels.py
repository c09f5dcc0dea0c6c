"""Every panel alone, by its own controls."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import Future

import ipywidgets
import plotly.graph_objects as go
import pytest

import workbench as wb
from tests.widgets import using
from workbench.diagnostics import Finding
from workbench.diagnostics.finding import Severity
from workbench.diagnostics.registry import _REGISTER
from workbench.plots import FIGURES, figure
from workbench.widgets.exporting import state_of_proof
from workbench.widgets.templates import TEMPLATES

PANELS = ["WritePanel", "TryPanel", "RunPanel", "ResultsPanel", "LabelPanel", "ComparePanel", "ExportPanel"]


@pytest.fixture
def make():
    """Make panels; they are closed in the end."""
    made = []

    def new(name, samples=using.ROWS, graders=using.GRADERS, **settings):
        given = graders if graders is None else list(graders)
        made.append(getattr(wb.widgets, name)(samples, given, **{"store": None, **settings}))
        return made[-1]

    yield new
    for panel in made:
        panel.close()


@pytest.fixture
def at_once(make):
    """A panel on the state of a run of all rows."""

    def new(name, **settings):
        panel = make(name, **settings)
        using.ran(panel)
        return panel

    return new


@pytest.mark.parametrize("name", PANELS)
def test_each_panel_stands_alone_and_leaves_nothing(name):
    """It shows itself before a run and after one, and closes every widget it made."""
    before = set(ipywidgets.widgets.widget._instances)
    panel = getattr(wb.widgets, name)(using.ROWS, list(using.GRADERS), store=None)
    assert repr(panel) == f"{name}(24 rows, 3 graders)"
    using.ran(panel)
    assert panel.state.problem is None
    panel.close()
    assert set(ipywidgets.widgets.widget._instances) <= before


def test_half_a_panel_leaves_nothing():
    """A panel that cannot be made is an error, and neither a widget nor a listener of it stays."""
    before = set(ipywidgets.widgets.widget._instances)
    with pytest.raises(wb.StoreError, match="no folder"):
        wb.widgets.LabelPanel(using.ROWS, list(using.GRADERS), store="sqlite:////nowhere/at/all.db")
    assert set(ipywidgets.widgets.widget._instances) <= before


# ---- Write


def test_write_proves_and_shows_failing_checks(make):
    """Validate runs the five checks; a grader that fails them says which, and how it ended."""
    panel = make("WritePanel", graders=[wb.FunctionGrader.from_source(using.WRONG, name="wrong"), using.GRADERS[0]])
    assert "not validated" in panel.state_line.value
    panel.prove.click()
    assert "the checks failed" in panel.state_line.value
    assert "KeyError" in panel.checks.value
    assert panel.state.proofs["wrong"].failure is not None
    panel.grader.value = "has yes"
    assert panel.prove.disabled
    assert panel.checks.value == ""
    assert json.loads(panel.source.text)["kind"] == "contains"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_every_template_is_taken_and_proved(make, template):
    """Choosing a template and pressing Add gives a grader, proved where it has source."""
    panel = make("WritePanel", graders=())
    panel.template.value = TEMPLATES.index(template)
    panel.add.click()
    assert panel.state.problem is None
    made = panel.state.graders[template.name]
    assert panel.grader.value == template.name
    assert template.name in panel.state.chosen
    if hasattr(made, "validation"):
        assert made.validation.ok, made.validation
        assert "validated" in panel.state_line.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no text"),
        ("  \n", "no text"),
        ("async def grade(thread:\n    return 1.0\n", "(?i)syntax|never closed"),
        ("x = 1\n", "no top-level"),
        ('{"kind": "no-such-kind"}', "no-such-kind"),
        ('{"kind": ', "no JSON"),
        ("async def grade(thread):\n    return 1.0\n" + "# " + "x" * 65_536, "64|65"),
    ],
)
def test_a_text_that_is_no_grader_says_why(make, text, words):
    """The error stands in the panel, and no grader is added or lost."""
    panel = make("WritePanel")
    panel.editor.value, panel.name.value = text, ""
    panel.add.click()
    problem, checks = panel.state.problem, panel.checks.value
    assert re.search(words, problem.what if problem else checks), (problem, checks)
    assert problem is None or "role='alert'" in panel._alert.value
    assert set(panel.state.graders) >= {one.name for one in using.GRADERS}


def test_edit_takes_a_copy_and_the_same_name_replaces_it(make):
    """A copy of the text goes into the editor; changed and added again it is another text without the old proof."""
    panel = make("WritePanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")])
    panel.prove.click()
    panel.edit.click()
    assert (panel.editor.value, panel.name.value) == (using.HALF, "half")
    panel.editor.value = using.BROKEN
    panel.add.click()
    assert panel.state.graders["half"].source.text == using.BROKEN
    assert not panel.state.proofs["half"].ok
    assert panel.state.unrun == {"half"}


def test_validating_while_try_answers_does_not_hang(make):
    """Results of Try that come while Validate waits are shown afterwards: neither waits for the other."""
    write = make("WritePanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half"), using.GRADERS[0]])
    attempt = wb.widgets.TryPanel(write)
    ended = threading.Event()

    def press():
        write.prove.click()
        attempt.answer.value = "changed"
        write.prove.click()
        ended.set()

    threading.Thread(target=press, daemon=True).start()
    assert ended.wait(60), "deadlock: the loop and the panel wait for each other"
    using.tried(attempt)
    assert write.state.proofs["half"].ok
    attempt.close()


# ---- Try


def test_try_finds_rows_by_id_words_and_chance(make):
    """An id is that row, words the next row that has them, Random any."""
    panel = make("TryPanel")
    panel.wanted.value = "row-7"
    assert panel.sample.id == "row-7"
    panel.wanted.value = "QUESTION 1"
    assert panel.sample.id == "row-10"
    assert "question 10" in panel.thread.value
    panel.random.click()
    assert panel.sample.id in {row["id"] for row in using.ROWS}
    panel.wanted.value = "nobody said this"
    assert "no row has this id or these words" in panel.state.problem.what
    panel.wanted.value = "row-1"
    assert panel.state.problem is None


def test_try_shows_each_grader_and_follows_an_edited_answer(make):
    """Scores of the row's answer stand side by side, and change with it."""
    panel = make("TryPanel")
    panel.wanted.value = "row-1"
    using.tried(panel)
    assert {name: grade.score for name, grade in panel._found.items()} == {"has yes": 1.0, "exact": 1.0, "short": 1.0}
    panel.answer.value = "oh yes"
    using.tried(panel)
    assert {name: grade.score for name, grade in panel._found.items()} == {"has yes": 1.0, "exact": 0.0, "short": 0.0}
    assert panel.results.value.count("<tr>") == 4
    assert " ms" in panel.results.value


def test_try_takes_pasted_messages(make):
    """A list of messages, or an object with a reference; what cannot be read names its place, and the old row stays."""
    panel = make("TryPanel")
    messages = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "two"}]
    panel.pasted.value = json.dumps({"messages": messages, "reference": "two"})
    panel.use.click()
    assert (panel.sample.id, panel.answer.value) == ("pasted", "two")
    using.tried(panel)
    assert panel._found["exact"].score == 1.0
    for bad in ("{", "3", '{"messages": 1}', '[{"content": "x"}]', '["x"]', '[{"role": "user", "content": 3}]', "[" * 99_999):
        panel.pasted.value = bad
        panel.use.click()
        assert panel.state.problem.what.startswith("the pasted"), (bad[:40], panel.state.problem)
        assert panel.answer.value == "two"


def test_try_asks_no_model_before_score(make):
    """A judge costs: it waits for the button, also when the answer is edited."""
    client = wb.ScriptedClient('{"reasoning": "fine", "score": "PASS"}')
    judge = wb.BinaryJudge(name="judge", criteria="is fine", client=client)
    panel = make("TryPanel", graders=[using.GRADERS[0], judge])
    using.tried(panel, "has yes")
    panel.answer.value = "another answer"
    using.tried(panel, "has yes")
    assert client.calls == []
    assert "press Score" in panel.results.value
    assert "judge" not in panel.state.code
    panel.score.click()
    using.tried(panel)
    assert len(client.calls) == 1
    assert "fine" in panel.results.value


def test_try_drops_what_comes_too_late(make):
    """An answer to an earlier question never stands beside a later one."""
    gate = threading.Event()
    told = []
    panel = make("TryPanel", graders=[using.gated(gate)])
    panel._trial._told = lambda name, grade: told.append((panel.answer.value, grade))
    panel.answer.value = "first"
    panel.answer.value = "second"
    old = panel._trial._number - 1
    late = Future()
    late.set_result(wb.Grade(0.123))
    panel._trial._ended(old, "waits", late)
    assert told == []
    del panel._trial._told
    panel._trial._told = panel._told
    gate.set()
    using.tried(panel)
    assert panel._found["waits"].score == 1.0


def test_try_shows_the_graders_own_line_of_an_error(make):
    """A grader that fails says where in its own text; it has no score."""
    panel = make("TryPanel", graders=[wb.FunctionGrader.from_source(using.WRONG, name="wrong")])
    using.tried(panel)
    assert panel._found["wrong"].score is None
    assert "KeyError" in panel.results.value
    assert "return {}[answer]" in panel.results.value or "line 3" in panel.results.value
    assert "failed" in panel.results.value


# ---- Run


def test_run_grades_a_draw_and_tells_how_it_ended(make):
    """Rows, seed and strata of the controls make the draw; the line says what was done."""
    panel = make("RunPanel")
    assert "24 of 24 rows x 3 graders = 72 grades" in panel.plan.value
    panel.rows.value, panel.seed.value = 8, 3
    panel.by.value = "good"
    panel.start.click()
    report = panel.state.job.report(60)
    assert report is panel.state.report
    assert len(report) == 8
    assert sum(row["good"] for row in using.ROWS if row["id"] in set(report.samples.ids)) == 4
    assert "done: 8 rows, 3 graders" in panel.status.value
    assert not panel.start.disabled
    assert panel.stop.disabled
    assert (panel.bar.value, panel.bar.max) == (24, 24)
    assert panel.state.unrun == frozenset()


def test_run_is_stopped_and_keeps_what_was_graded(make):
    """Stop ends it soon; what was graded is in the report, the rest is failed as cancelled."""
    gate = threading.Event()
    panel = make("RunPanel", graders=[using.GRADERS[0], using.gated(gate)])
    panel.start.click()
    assert panel.start.disabled
    assert not panel.stop.disabled
    using.until(panel.state, "progress", lambda moment: moment is not None)
    assert "of 48" in panel.status.value
    panel.stop.click()
    report = panel.state.job.report(60)
    assert report.summary.loc["has yes", "scored"] == 24
    assert report.summary.loc["waits", "failed"] == 24
    assert "Interrupted: 24 of 48 grades kept." in panel.status.value


def test_a_second_run_is_refused_and_the_refusal_stays(make):
    """While one runs another is refused; the error stays to be read although news of the run come in."""
    gate = threading.Event()
    panel = make("RunPanel", graders=[using.gated(gate)])
    panel.start.click()
    using.until(panel.state, "progress", lambda moment: moment is not None)
    panel.start.disabled = False
    panel.start.click()
    before = panel.state.progress
    using.until(panel.state, "progress", lambda moment: moment is not before)
    assert "a run is under way" in panel.state.problem.what
    assert "a run is under way" in panel._alert.value
    gate.set()
    panel.state.job.report(60)


def test_an_error_of_a_run_reaches_the_panel(make):
    """What ends a run without a report is shown with its traceback behind a fold, and the next run can start."""
    panel = make("RunPanel", samples=[{"prompt": "no completions at all"}])
    panel.start.click()
    with pytest.raises(wb.errors.SamplesError):
        panel.state.job.report(60)
    assert "completion" in panel._alert.value
    assert "<details>" in panel._alert.value
    assert "Traceback" in panel._alert.value
    assert not panel.state.running
    assert not panel.start.disabled


def test_run_tells_which_graders_changed(make):
    """The list says what has not run since it was redefined, and what has no proof."""
    panel = make("RunPanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")])
    assert panel.graders.options[0][0] == "half · not run yet · not validated"
    using.ran(panel)
    assert panel.graders.options[0][0] == "half · not validated"
    panel.state.add(wb.FunctionGrader.from_source(using.BROKEN, name="half"))
    assert panel.graders.options[0][0] == "half · changed · not validated"


def test_run_runs_what_is_chosen(make):
    """Graders that are not chosen are not run; with none chosen the panel says so."""
    panel = make("RunPanel")
    panel.graders.value = ("exact",)
    assert using.ran(panel).report.graders == ["exact"]
    panel.graders.value = ()
    panel.start.click()
    assert "no grader is chosen" in panel.state.problem.what


# ---- Results


def test_results_offers_whatever_figure_is_registered(at_once):
    """A figure that is registered appears, is drawn, and its marks mean their rows."""

    @figure("of-a-test", "A figure of a test")
    def draw(report, names):
        return go.Figure(go.Bar(y=[1], customdata=[[{"label": None}]], name=str(names)))

    try:
        panel = at_once("ResultsPanel")
        assert ("A figure of a test", "of-a-test") in panel.figure.options
        panel.figure.value = "of-a-test"
        panel.grader.value = "exact"
        assert panel.chart.figure.data[0].name == "['exact']"
        panel.chart.hear({"do": "pick", "picks": [[{"label": None}]]})
        assert panel.state.where == ({"label": None},)
    finally:
        del FIGURES["of-a-test"]


def test_results_shows_whatever_a_diagnostic_says(make):
    """A finding of a diagnostic that is registered appears as a card; its click shows its rows in its order."""

    def odd(case):
        yield Finding(
            grader=case.grader, kind="of-a-test", severity=Severity.WARNING, statistic="rows", value=2.0, interval=None,
            n=24, needed=0, message="rows of a test", advice="look at them", rows=(5, 2),
        )  # fmt: skip

    _REGISTER["workbench"]["of-a-test"] = odd
    try:
        panel = make("ResultsPanel")
        using.ran(panel)
        assert panel.state.problem is None, panel.state.problem.trace
        items = [item["title"] for item in panel.findings.items]
        assert "of a test" in items
        at = next(i for i, one in enumerate(panel.findings.items) if (one["title"], one["grader"]) == ("of a test", "exact"))
        panel.findings.hear({"do": "pick", "at": at})
        assert panel.state.where == ({"finding": ["exact", "of-a-test"]},)
        assert panel._rows.rows.tolist() == [5, 2]
        assert panel.findings.active == at
    finally:
        del _REGISTER["workbench"]["of-a-test"]


def test_results_bar_click_shows_exactly_its_rows(at_once):
    """Every bar of the score figure shows as many rows as it is high; a double click shows all again."""
    panel = at_once("ResultsPanel")
    for bar in panel.chart.figure.data:
        heights = list(bar.y if bar.orientation != "h" else bar.x)
        for height, mark in zip(heights, bar.customdata or (), strict=False):
            panel.chart.hear({"do": "pick", "picks": [mark]})
            assert panel.state.problem is None
            name = mark[0]["grader"]
            assert all(
                mark[0]["score"][0] <= panel.state.report.grades[name].scores[row] <= mark[0]["score"][1]
                for row in panel._rows.rows
            )
            assert len(panel._rows) in {int(height), 0} or height != int(height)
    panel.chart.hear({"do": "pick", "picks": []})
    assert panel.state.where == ()
    assert panel.table.count == 24


def test_results_box_over_several_bars(at_once):
    """Bars of one grader are the bin they span; marks of other kinds are whatever meets one of them."""
    panel = at_once("ResultsPanel")
    low, high = [{"grader": "exact", "score": [0, 0.5]}], [{"grader": "exact", "score": [0.5, 1.0]}]
    panel.chart.hear({"do": "pick", "picks": [low, high]})
    assert panel.state.where == ({"grader": "exact", "score": [0, 1.0]},)
    assert panel.table.count == 24
    yes = [{"grader": "has yes", "passed": True}, {"grader": "exact", "passed": False}]
    failed = [{"grader": "exact", "status": "failed"}]
    panel.chart.hear({"do": "pick", "picks": [yes, failed]})
    report = panel.state.report
    assert panel._rows.rows.tolist() == report.where(*yes).tolist()
    assert len(panel.state.code) < 500
    assert "or exact: failed" in panel.shown.value


def test_results_search_quick_filters_and_clear(at_once):
    """Words narrow what is shown, an emptied box does not; a filter is chosen, told, and taken away."""
    panel = at_once("ResultsPanel", labels="good")
    panel.search.value = "question 1"
    assert panel.table.count == 11
    panel.search.value = ""
    assert panel.table.count == 24
    panel.search.value = "question 1"
    titles = [title for title, _ in panel.quick.options]
    panel.quick.value = titles.index("labelled good")
    assert panel.table.count == 12
    assert panel.search.value == ""
    panel.search.value = "question 1"
    assert panel.state.where == ({"label": True}, {"text": "question 1"})
    assert panel.table.count == 6
    panel.clear.click()
    assert (panel.state.where, panel.table.count, panel.search.value, panel.quick.value) == ((), 24, "", 0)
    panel.quick.value = titles.index("exact differs from the label")
    wrong = panel.table.count
    panel.chart.hear({"do": "pick", "picks": [[{"label": True}]]})
    assert panel.quick.value == titles.index("labelled good")
    panel.quick.value = titles.index("exact differs from the label")
    assert panel.table.count == wrong
    panel.quick.value = 0
    assert panel.table.count == 24


def test_results_reads_the_row_that_is_selected(at_once):
    """Selecting a row, also of a sorted and filtered table, says which row of the report it is."""
    panel = at_once("ResultsPanel")
    panel.state.look({"grader": "has yes", "passed": True})
    panel.table.hear({"do": "sort", "key": "row", "descending": True, "version": panel.table.version})
    panel.table.hear({"do": "select", "at": 0, "version": panel.table.version})
    assert panel.state.row == 23
    assert panel.state.problem is None


def test_results_uses_labels_given_since(at_once):
    """The button stands there once labels are new, and reads the findings with them."""
    panel = at_once("ResultsPanel")
    panel.refresh()
    assert panel.relabel.layout.display == "none"
    panel.state.label("row-1", True)
    panel.refresh()
    assert panel.relabel.layout.display == ""
    panel.relabel.click()
    assert panel.state.problem is None
    assert panel.state.report.labels[1] is True
    assert panel.relabel.layout.display == "none"


def test_results_of_many_graders_with_long_names(make):
    """Twenty graders of a hundred characters each are told apart wherever one chooses."""
    names = ["n" * 98 + f"{n:02}" for n in range(20)]
    panel = make("ResultsPanel", graders=[wb.Contains(expected=str(n), name=name) for n, name in enumerate(names)])
    using.ran(panel)
    assert panel.state.problem is None
    assert len({title for title, _ in panel.grader.options}) == 21
    panel.grader.value = names[7]
    assert panel.state.problem is None
    assert len({title for title, _ in panel.quick.options}) == len(panel.quick.options)


# ---- Compare


def test_compare_two_graders(at_once):
    """A verdict in words, a figure, and the rows that differ most first; a mark of the figure shows its rows."""
    panel = at_once("ComparePanel")
    assert panel.state.problem is None
    panel.a.value, panel.b.value = "has yes", "exact"
    assert panel.verdict.value.startswith("<b>")
    scores = [panel.state.report.grades[name].scores for name in ("has yes", "exact")]
    gaps = [abs(scores[0][row] - scores[1][row]) for row in panel.table.source.rows]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == 1.0
    pick = [{"verdicts": ["has yes", "exact"], "are": [True, False]}]
    panel.chart.hear({"do": "pick", "picks": [pick]})
    assert panel.table.source.rows.tolist() == panel.state.report.where(*pick).tolist()
    panel.all.click()
    assert panel.table.count == 24
    panel.b.value = "has yes"
    assert "two different graders" in panel.verdict.value


def test_compare_every_mark_of_its_figures_means_rows(at_once):
    """Every mark of every figure for two graders is understood by the report, and together they are all rows."""
    panel = at_once("ComparePanel")
    for _, kind in panel.figure.options:
        panel.figure.value = kind
        for trace in panel.chart.figure.data:
            marks = trace.customdata if trace.customdata is not None else ()
            for mark in marks:
                for one in mark if isinstance(mark[0], list | tuple) else [mark]:
                    if one:
                        panel.chart.hear({"do": "pick", "picks": [one]})
                        assert panel.state.problem is None, (kind, one)


def test_compare_versions_of_a_redefined_grader(make):
    """A grader that was redefined and run again stands beside what it said before."""
    panel = make("ComparePanel", graders=[wb.Contains(expected="yes", name="has")])
    using.ran(panel)
    assert "Run two graders" in panel.verdict.value
    panel.state.add(wb.Contains(expected="no", name="has"))
    assert panel.state.unrun == {"has"}
    using.ran(panel)
    assert (panel.a.value, panel.b.value) == ("has (before)", "has")
    assert panel.table.count == 24
    assert panel.state.problem is None


# ---- Export


def test_export_preview_is_what_is_written(make, tmp_path, monkeypatch):
    """For every format that can say the graders, the preview has each file's text byte for byte."""
    monkeypatch.chdir(tmp_path)
    graders = [wb.FunctionGrader.from_source(using.HALF, name="half"), wb.StringCheck(name="same", operation="eq", reference="yes")]
    graders[0].validate()
    panel = make("ExportPanel", graders=graders)
    seen = []
    for _, name in panel.format.options:
        panel.format.value = name
        for drop in (False, True):
            panel.drop.value = drop
            assert panel.state.problem is None, (name, panel.state.problem)
            if panel.write.disabled:
                assert panel._preview.problem
                assert "wb-no" in panel.losses.value
                continue
            panel.path.value = f"{name}-{drop}"
            files = dict(panel._preview.files)
            panel.write.click()
            assert panel.state.problem is None, (name, panel.state.problem)
            assert {one: (tmp_path / one).read_text("utf-8") for one in files} == files
            for one, text in files.items():
                panel.file.value = one
                assert panel.view.text == text
            seen.append(name)
            assert bool(panel._preview.losses) <= drop
            assert panel.losses.value.count("<b>dropped</b>") == len(panel._preview.losses)
            again = using.repeated  # the shown code does the same
            before = {one: (tmp_path / one).read_bytes() for one in files}
            assert again(panel_as_app(panel)) is not None
            assert {one: (tmp_path / one).read_bytes() for one in files} == before
    assert {"native"} <= set(seen)
    assert len(set(seen)) >= 3


class panel_as_app:  # noqa: N801 (reads as what it does)
    """What the code of a panel alone calls `app`."""

    def __init__(self, panel):
        self.state, self.graders = panel.state, panel.state.graders

    @property
    def suite(self):
        """The chosen graders."""
        return self.state.chosen_suite()


def test_export_refuses_what_is_not_validated_until_it_is_allowed(make, tmp_path):
    """Without a proof nothing is written; with one, or with the box, it is."""
    panel = make("ExportPanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")])
    panel.path.value = str(tmp_path / "out")
    assert panel.write.disabled
    assert "not validated" in panel.proofs.value
    assert "half" in panel.losses.value
    panel.unproved.value = True
    assert not panel.write.disabled
    panel.write.click()
    assert "allow_unvalidated=True" in panel.state.code
    assert (tmp_path / "out.json").exists()
    panel.unproved.value = False
    panel.prove.click()
    assert panel.prove.layout.display == "none"
    assert "validated" in panel.proofs.value
    panel.write.click()
    assert str(tmp_path) in panel.said.value
    assert '"validation"' in (tmp_path / "out.json").read_text("utf-8")


def test_export_counts_the_proofs_of_the_parts(make):
    """A grader made of others is proved when its parts are."""
    half = wb.FunctionGrader.from_source(using.HALF, name="half")
    both = wb.Combined(name="both", entries=(wb.Entry(half, "half"), wb.Entry(using.GRADERS[0], "yes")))
    assert state_of_proof(wb.Suite([both]))[0][1] is False
    half.validate()
    name, good, words = state_of_proof(wb.Suite([both]))[0]
    assert (name, good) == ("both", True)
    assert words.startswith("validated, ")


def test_export_into_a_folder_that_is_not_there(make, tmp_path):
    """The error is shown, nothing is written, and the panel goes on."""
    panel = make("ExportPanel")
    panel.path.value = str(tmp_path / "nowhere" / "out")
    panel.write.click()
    assert "nowhere" in panel.state.problem.what
    assert list(tmp_path.iterdir()) == []
    panel.path.value = "x" * 300
    assert panel.state.problem is None
    assert "too long" in panel.losses.value.lower()
    assert panel.write.disabled
    panel.path.value = str(tmp_path / "out")
    panel.write.click()
    assert panel.state.problem is None
    assert (tmp_path / "out.json").exists()
