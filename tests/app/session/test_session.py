"""The session of the panels: graders and their validation, runs, errors, and the code that repeats an action."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.session import Session
from workbench.core.errors import WorkbenchError


@pytest.fixture
def session():
    """A session on the rows, its store in memory."""
    made = Session(using.ROWS, list(using.GRADERS), store=None)
    yield made
    made.close()


@pytest.fixture
def app(tmp_path):
    """A Workbench with a store on disk, labels in a column."""
    made = using.app_of(store=f"sqlite:///{tmp_path}/labels.db", labels="good", labeller="ada")
    yield made
    made.close()


def half(text=using.HALF, name="half"):
    """A function grader."""
    return wb.FunctionGrader.from_source(text, name=name)


# ---- graders


def test_the_same_text_keeps_its_proof_and_another_loses_it(session):
    """A grader redefined with the same text remains validated; with another it is not validated and not run."""
    session.graders.add(half())
    session.graders.validate("half")
    using.ran(SimpleNamespace(session=session))
    assert session.graders.unrun == frozenset()
    session.graders.add(half())
    assert session.graders.validations["half"].ok
    assert session.graders.by_name["half"].validation.ok
    assert session.graders.unrun == frozenset()
    session.graders.add(half(using.BROKEN))
    assert session.graders.validations["half"] is None
    assert session.graders.unrun == {"half"}


def test_a_grader_redefined_during_a_run_is_still_to_be_run(session):
    """A run that started with the old text gives no result for the new one."""
    gate = threading.Event()
    session.graders.add(using.gated(gate))
    job = session.runs.start()
    session.graders.add(wb.Contains(expected="x", name="exact"))
    gate.set()
    job.report(60)
    assert session.graders.unrun == {"exact"}


def test_take_keeps_what_was_written_and_drops_what_is_no_longer_given(session):
    """Graders of the list are added and removed with it; one written in the app remains with any list."""
    session.graders.add_text(using.HALF, name="half")
    session.graders.set_given([using.GRADERS[1]])
    assert list(session.graders.by_name) == ["exact", "half"]
    assert set(session.graders.chosen) == {"exact", "half"}
    assert set(session.graders.validations) == set(session.graders.by_name)
    assert session.graders.unrun <= set(session.graders.by_name)


@pytest.mark.parametrize("what", [3, "contains", None])
def test_what_is_no_grader_is_refused(session, what):
    """A Workbench takes graders only."""
    with pytest.raises(TypeError, match="takes graders"):
        session.graders.add(what)


def test_choose_keeps_the_lists_order_and_knows_its_names(session):
    """The order is that of the list; an unknown name is reported with the known ones."""
    session.graders.choose(["short", "has yes"])
    assert session.graders.chosen == ("has yes", "short")
    with pytest.raises(wb.errors.WorkbenchError, match="grader 'other'"):
        session.graders.choose(["other"])
    assert session.graders.chosen == ("has yes", "short")


def test_a_suite_keeps_its_rule_and_its_names():
    """With all its graders selected a suite runs unchanged; with some of them as a plain list under its names."""
    entries = [wb.Entry(using.GRADERS[0], "first", weight=3.0), wb.Entry(using.GRADERS[1], "second")]
    session = Session(using.ROWS, wb.Suite(entries, combine=wb.combine.Mean(), name="both"), store=None)
    assert session.runs.start().report(60).graders == ["first", "second", "both"]
    session.graders.choose(["second"])
    assert session.runs.start().report(60).graders == ["second"]
    session.close()


# ---- errors


def test_news_leave_an_error_to_be_read_and_an_act_takes_it_away(session):
    """What a person did wrong stays until that person does something else."""
    with session.guard.locked("Try", by_person=True):
        raise ValueError("bad")
    assert (session.guard.problem.what, session.guard.problem.where) == ("ValueError: bad", "Try")
    with session.guard.locked("Run"):
        pass
    assert session.guard.problem is not None
    with session.guard.locked("Try", by_person=True):
        pass
    assert session.guard.problem is None


def test_an_interrupt_in_a_callback_is_told(session):
    """The stop button ends a callback, not the app."""
    with session.guard.locked("Write", by_person=True):
        raise KeyboardInterrupt
    assert session.guard.problem.what == "Interrupted."


def test_a_listener_that_fails_ends_in_the_problem_and_the_run_goes_on(session):
    """News of a run that a view cannot show do not end the run."""

    def fails(change):
        with session.guard.locked("a view"):
            raise RuntimeError("cannot draw")

    session.runs.observe(fails, "progress")
    report = session.runs.start().report(60)
    assert session.results.report is report
    assert session.guard.problem.what == "RuntimeError: cannot draw"


# ---- runs


def test_the_report_is_there_when_the_job_is_over(session):
    """After waiting for the job the session is up to date: report, graders run, and no run in progress."""
    for _ in range(5):
        report = session.runs.start().report(60)
        assert session.results.report is report
        assert not session.runs.running


def test_a_state_that_is_closed_stops_its_run():
    """Closing cancels the run and reports nothing more."""
    gate = threading.Event()
    session = Session(using.ROWS, [using.gated(gate)], store=None)
    job = session.runs.start()
    session.close()
    assert job.report(60).summary.loc["waits", "scored"] == 0
    assert session.guard.problem is None


def test_versions_stand_on_the_rows_that_both_runs_have(session):
    """A grader's previous scores are shown next to the new ones, on fewer rows if the draws differ, and remain."""
    session.runs.start().report(60)
    session.graders.add(wb.Contains(expected="no", name="has yes"))
    session.runs.start().report(60)
    assert session.runs.versions().graders == ["has yes", "exact", "short", "has yes (before)"]
    session.graders.add(wb.Contains(expected="n", name="has yes"))
    session.runs.start(8).report(60)
    versions = session.runs.versions()
    assert (versions.graders, len(versions)) == (["has yes", "exact", "short", "has yes (before)"], 8)
    by_name = {
        name: versions.grades["has yes (before)"].scores[row] for row, name in enumerate(versions.samples.ids)
    }
    whole = wb.Contains(expected="no", name="has yes").run(session.samples, progress=False)
    for row, name in enumerate(whole.samples.ids):
        assert by_name.get(name, whole.grades["has yes"].scores[row]) == whole.grades["has yes"].scores[row]
    session.runs.start(8).report(60)  # the same definition again: its scores before the change are retained
    assert "has yes (before)" in session.runs.versions().graders


def test_look_refuses_what_the_report_cannot_answer(session):
    """A condition of a grader that is not there changes nothing."""
    session.results.look({"label": True})
    assert session.results.where == ()
    session.runs.start().report(60)
    session.results.look({"grader": "exact", "passed": True})
    with pytest.raises(wb.errors.ReportError, match="grader 'other'"):
        session.results.look({"grader": "other", "passed": True})
    assert session.results.where == ({"grader": "exact", "passed": True},)


# ---- everything the app does, the code API does


@pytest.mark.parametrize("n", [0, 10])
@pytest.mark.parametrize("labelled", [False, True])
def test_code_of_a_run_gives_the_same_report(app, n, labelled):
    """All rows or a draw, with labels of a column or of people: the same rows, grades and labels."""
    if labelled:
        app.session.label("row-2", True)
    app.session.runs.start(n, seed=4, by="good" if n else None).report(60)
    again = using.repeated(app, "report")
    assert list(again.samples.ids) == list(app.report.samples.ids)
    assert again.scores.equals(app.report.scores)
    assert again.labels == app.report.labels


def test_code_of_a_run_with_a_list_of_labels_and_a_budget():
    """Labels given as a list need no name that the next cell does not have."""
    app = using.app_of(labels=[bool(row["good"]) for row in using.ROWS])
    app.session.runs.start(8, budget=2.5).report(60)
    assert "budget=2.5" in app.session.code.text
    assert using.repeated(app, "report").labels == app.report.labels
    app.close()


def test_code_of_a_suites_run_keeps_names_weights_and_rule():
    """Names, weights and rule of a suite are in the code's report too, for all of its graders or some."""
    entries = [wb.Entry(using.GRADERS[0], "first", weight=3.0), wb.Entry(using.GRADERS[1], "second")]
    app = wb.Workbench(using.ROWS, wb.Suite(entries, combine=wb.combine.Mean(), name="both"), store=None)
    for names in (["first", "second"], ["second"]):
        app.session.graders.choose(names)
        app.session.runs.start().report(60)
        assert using.repeated(app, "report").scores.equals(app.report.scores)
    app.close()


def test_graders_that_do_not_run_again_keep_their_results(app):
    """One is changed and run alone on the same rows: the others' grades remain unchanged, in their order."""
    app.session.runs.start(12).report(60)
    before = app.report
    app.session.graders.add(wb.ExactMatch(name="exact", ignore_case=True))
    app.session.graders.choose(["exact"])
    app.session.runs.start(12).report(60)
    assert app.report.graders == before.graders
    kept = [name for name in before.graders if name != "exact"]
    assert app.report.scores[kept].equals(before.scores[kept])
    assert {finding.grader for finding in app.report.findings} >= {
        finding.grader for finding in before.findings if finding.grader in kept
    }
    assert using.repeated(app, "report").scores.equals(app.report.scores)
    assert app.versions.graders == [*before.graders, "exact (before)"]


def test_what_is_out_of_date_is_not_kept(app):
    """On other rows, after a change, or once removed, a grader's old grades are not merged into the new run."""
    app.session.runs.start(12).report(60)
    app.session.graders.choose(["exact"])
    app.session.runs.start(8, seed=5).report(60)
    assert app.report.graders == ["exact"]
    app.session.graders.choose(app.graders)
    app.session.runs.start(12).report(60)
    app.session.graders.add(wb.Contains(expected="new", name="has yes"))
    app.session.graders.remove("short")
    app.session.graders.choose(["exact"])
    app.session.runs.start(12).report(60)
    assert app.report.graders == ["exact"]
    assert "app.beside" not in app.session.code.text


def test_results_of_other_texts_are_not_joined(app):
    """The same ids with other completions: grades of the old ones are not merged."""
    app.session.runs.start().report(60)
    others = [{**row, "completion": "something else"} for row in using.ROWS]
    own = wb.Suite([wb.Contains(expected="z", name="new")]).run(others, progress=False)
    assert app.beside(own).graders == ["new"]
    same = wb.Suite([wb.Contains(expected="z", name="new")]).run(app.samples, progress=False)
    assert app.beside(same).graders == [*app.report.graders, "new"]


def test_a_run_that_was_cut_off_is_told_as_long_as_its_rows_are_shown():
    """Interrupted, then another grader runs: the note of the first stands in the report, not in what the second did."""
    gate = threading.Event()
    app = using.app_of([using.gated(gate), using.GRADERS[0]])
    job = app.session.runs.start()
    app.session.runs.cancel()
    job.report(60)
    gate.set()
    (note,) = app.report.notes
    app.session.graders.choose([using.GRADERS[0].name])
    app.session.runs.start().report(60)
    assert app.report.notes == (note,)
    assert app.session.runs.last_report.notes == ()
    assert app.session.runs.last_report.graders == [using.GRADERS[0].name]
    app.session.graders.choose(["waits"])
    app.session.runs.start().report(60)
    assert app.report.notes == ()
    app.close()


def test_a_grader_of_another_kind_has_no_source_of_the_one_before(app):
    """A function is replaced with a rule: no report shows the old text with the rule's scores."""
    app.session.graders.add(half(name="exact"))
    app.session.runs.start().report(60)
    app.session.graders.add(wb.Contains(expected="yes", name="exact"))
    app.session.graders.choose(["exact"])
    app.session.runs.start().report(60)
    assert "exact" not in app.report.sources


def test_labels_that_were_all_undone_leave_the_findings():
    """The report is read without any, and nothing is left to be used."""
    app = using.app_of()
    app.session.runs.start().report(60)
    app.session.label("row-1", True)
    app.session.use_labels()
    assert app.report.labels[1] is True
    app.session.undo_label()
    app.session.use_labels()
    assert app.report.labels is None
    assert not app.session.labels.differ_from(app.report)
    assert list(map(str, using.repeated(app, "report").findings)) == list(map(str, app.report.findings))
    app.close()


# ---- what is taken away


def test_what_is_put_back_is_as_it_was(app):
    """Its place, choice, results and cell come back; several, the last one first."""
    app.session.graders.choose(["exact", "short"])
    app.session.runs.start().report(60)
    before = (
        list(app.graders),
        app.session.graders.chosen,
        app.session.graders.unrun,
        dict(app.session.graders._from_cells),
    )
    for name in ("has yes", "exact"):
        app.session.graders.remove(name)
    assert list(app.graders) == ["short"]
    assert [app.session.graders.restore(), app.session.graders.restore()] == ["exact", "has yes"]
    assert (
        list(app.graders),
        app.session.graders.chosen,
        app.session.graders.unrun,
        dict(app.session.graders._from_cells),
    ) == before
    with pytest.raises(WorkbenchError, match="no grader was removed"):
        app.session.graders.restore()


def test_one_that_was_replaced_and_the_other_take_turns(app):
    """Nothing is lost if another grader took the name meanwhile: each can replace the other."""
    app.session.graders.add_text(using.HALF, name="mine")
    app.session.graders.add_text(using.HALF.replace("0.5", "0.25"), name="mine")
    for value in ("0.5", "0.25", "0.5"):
        app.session.graders.restore()
        assert value in app.graders["mine"].source.text
    app.session.graders.remove("exact")
    app.session.graders.add(wb.Contains(expected="other", name="exact"))
    app.session.graders.restore()
    assert isinstance(app.graders["exact"], wb.ExactMatch)
    app.session.graders.restore()
    assert app.graders["exact"].expected == "other"


def test_code_of_a_look_gives_the_selected_rows(app):
    """The rows of the code are those the app shows."""
    app.session.runs.start().report(60)
    for where in (
        [{"grader": "exact", "passed": True}],
        [{"any": [[{"label": True}], [{"text": "question 3"}]]}, {"wrong": "exact"}],
        [{"apart": ["exact", "short"], "least": 0.5}, {"text": 'it\'s "1"'}],
    ):
        app.session.results.look(*where)
        assert using.valued(app).equals(app.selected)


def test_code_of_new_labels_gives_the_same_findings(app):
    """Findings are recomputed with users' labels, over a draw."""
    app.session.runs.start(12).report(60)
    for row in app.report.samples.ids[:5]:
        app.session.label(row, False)
    app.session.use_labels()
    again = using.repeated(app, "report")
    assert again.labels == app.report.labels
    assert again.findings == app.report.findings


def test_code_of_a_label_and_of_its_undo(app):
    """The code puts the same label, and takes it back."""
    store = app.session.storage.store
    app.session.label("row-3", False, 'it\'s "so"\n')
    kept = store.labels.latest(dataset=app.session.labels.dataset)["row-3"]
    put = app.session.code.text
    app.session.undo_label()
    undo = app.session.code.text
    assert store.labels.latest(dataset=app.session.labels.dataset) == {}
    exec(put, {"wb": wb, "app": app})
    again = store.labels.latest(dataset=app.session.labels.dataset)["row-3"]
    assert (again.value, again.labeller, again.note) == (kept.value, kept.labeller, kept.note)
    exec(undo, {"wb": wb, "app": app})
    assert store.labels.latest(dataset=app.session.labels.dataset) == {}


def test_code_of_a_label_in_memory_reaches_the_apps_store():
    """A store in memory has no address: the code names the app's own."""
    app = using.app_of()
    app.session.label("row-3", True)
    app.session.labels.undo()
    using.repeated(app)
    assert app.session.storage.store.labels.latest(dataset=app.session.labels.dataset)["row-3"].value is True
    app.close()


def test_code_of_a_proof(app):
    """The code validates the same grader."""
    app.add(half())
    app.session.graders.validate("half")
    assert using.valued(app).ok


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"kind": "contains", "expected": "yes", "ignore_case": true}', "mine"),
        ('  {"kind": "contains", "name": "own", "expected": "\\u00e9"}', ""),
        (using.HALF, "not an identifier"),
        (using.HALF, "class"),
        ("function grade(sample) { return 1.0 }\n", "js grader"),
    ],
)
def test_code_of_a_written_text_makes_the_same_grader(app, text, name):
    """Rules as specs, and sources whose name no magic takes."""
    name = app.session.graders.add_text(text, name=name)
    made = app.graders[name]
    app.session.graders.remove(name)
    assert using.repeated(app, "grader") == made or app.graders[name].spec() == made.spec()
    assert app.graders[name].name == name


def test_code_of_a_written_function_is_a_cell(app):
    """A function is shown as a %%grader cell, which creates the same grader and adds it to the open app."""
    testing = pytest.importorskip("IPython.core.interactiveshell")
    shell = testing.InteractiveShell()
    shell.run_line_magic("load_ext", "workbench")
    for text, name in ((using.HALF, "written"), ("function grade(sample) { return 1.0 }\n", "scripted")):
        app.session.graders.add_text(text, name=name)
        made = app.session.graders.by_name[name]
        code = app.session.code.text
        assert code.startswith("%%grader")
        app.session.graders.remove(name)
        assert shell.run_cell(code).success
        again = app.session.graders.by_name[name]
        assert again.source.text.strip() == made.source.text.strip()
        assert again.name == made.name
        assert again.validation.ok


def test_code_of_a_comparison(app):
    """The code compares the same two, also with previous scores of one."""
    app.session.runs.start().report(60)
    app.session.note_comparison("exact", "short")
    assert str(using.valued(app)) == str(app.report.compare("exact", "short"))
    app.add(wb.Contains(expected="no", name="exact"))
    app.session.runs.start().report(60)
    app.session.note_comparison("exact (before)", "exact")
    assert str(using.valued(app)) == str(app.versions.compare("exact (before)", "exact"))


def test_a_run_knows_what_another_notebook_labelled(tmp_path):
    """Labels added to the store meanwhile are in the next report, and after reading them again in the findings."""
    url = f"sqlite:///{tmp_path}/labels.db"
    one, two = (Session(using.ROWS, list(using.GRADERS), store=url) for _ in range(2))
    assert one.runs.start().report(60).labels is None
    two.label("row-3", True)
    assert one.runs.start().report(60).labels[3] is True
    two.label("row-4", False)
    one.use_labels()
    assert one.results.report.labels[3:5] == [True, False]
    one.close()
    two.close()


def test_closing_in_the_middle_of_a_run_with_a_store_is_no_error(tmp_path):
    """The run ends as one that was stopped, although the store is closed under it."""
    gate = threading.Event()
    session = Session(
        using.ROWS, [using.GRADERS[0], using.gated(gate)], store=f"sqlite:///{tmp_path}/labels.db"
    )
    told = threading.Event()
    session.runs.observe(lambda _: told.set(), "progress")
    job = session.runs.start()
    assert told.wait(600)
    session.close()
    assert job.report(60).summary.loc["has yes", "scored"] == 24
    assert session.guard.problem is None
