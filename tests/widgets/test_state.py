"""The state behind the panels: graders and their proofs, runs, errors, and the code that repeats an action."""

from __future__ import annotations

import threading

import pytest

import workbench as wb
from tests.widgets import using
from workbench.errors import WorkbenchError
from workbench.session.session import State


@pytest.fixture
def state():
    """A state on the rows, its store in memory."""
    made = State(using.ROWS, list(using.GRADERS), store=None)
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


def test_the_same_text_keeps_its_proof_and_another_loses_it(state):
    """A grader defined again with the same text stays proved; with another it is unproved and not run."""
    state.add(half())
    state.validate("half")
    using.ran(type("view", (), {"state": state}))
    assert state.unrun == frozenset()
    state.add(half())
    assert state.proofs["half"].ok
    assert state.graders["half"].validation.ok
    assert state.unrun == frozenset()
    state.add(half(using.BROKEN))
    assert state.proofs["half"] is None
    assert state.unrun == {"half"}


def test_a_grader_redefined_during_a_run_is_still_to_be_run(state):
    """A run that had begun with the old text says nothing of the new one."""
    gate = threading.Event()
    state.add(using.gated(gate))
    job = state.start()
    state.add(wb.Contains(expected="x", name="exact"))
    gate.set()
    job.report(60)
    assert state.unrun == {"exact"}


def test_take_keeps_what_was_written_and_drops_what_is_no_longer_given(state):
    """Graders of the list come and go with it; one written in the app stays, whatever the list."""
    state.write(using.HALF, name="half")
    state.take([using.GRADERS[1]])
    assert list(state.graders) == ["exact", "half"]
    assert set(state.chosen) == {"exact", "half"}
    assert set(state.proofs) == set(state.graders)
    assert state.unrun <= set(state.graders)


@pytest.mark.parametrize("what", [3, "contains", None])
def test_what_is_no_grader_is_refused(state, what):
    """A Workbench takes graders only."""
    with pytest.raises(TypeError, match="takes graders"):
        state.add(what)


def test_choose_keeps_the_lists_order_and_knows_its_names(state):
    """The order is that of the list; an unknown name is told with those there are."""
    state.choose(["short", "has yes"])
    assert state.chosen == ("has yes", "short")
    with pytest.raises(wb.errors.WorkbenchError, match="no grader 'other'"):
        state.choose(["other"])
    assert state.chosen == ("has yes", "short")


def test_a_suite_keeps_its_rule_and_its_names():
    """With all its graders chosen a suite runs as it is; with some of them as a plain list under its names."""
    entries = [wb.Entry(using.GRADERS[0], "first", weight=3.0), wb.Entry(using.GRADERS[1], "second")]
    state = State(using.ROWS, wb.Suite(entries, combine=wb.combine.Mean(), name="both"), store=None)
    assert state.start().report(60).graders == ["first", "second", "both"]
    state.choose(["second"])
    assert state.start().report(60).graders == ["second"]
    state.close()


# ---- errors


def test_news_leave_an_error_to_be_read_and_an_act_takes_it_away(state):
    """What a person did wrong stays until that person does something else."""
    with state.guard("Try", act=True):
        raise ValueError("bad")
    assert (state.problem.what, state.problem.where) == ("ValueError: bad", "Try")
    with state.guard("Run"):
        pass
    assert state.problem is not None
    with state.guard("Try", act=True):
        pass
    assert state.problem is None


def test_an_interrupt_in_a_callback_is_told(state):
    """The stop button ends a callback, not the app."""
    with state.guard("Write", act=True):
        raise KeyboardInterrupt
    assert state.problem.what == "Interrupted."


def test_a_listener_that_fails_ends_in_the_problem_and_the_run_goes_on(state):
    """News of a run that a view cannot show do not end the run."""

    def fails(change):
        with state.guard("a view"):
            raise RuntimeError("cannot draw")

    state.observe(fails, "progress")
    report = state.start().report(60)
    assert state.report is report
    assert state.problem.what == "RuntimeError: cannot draw"


# ---- runs


def test_the_report_is_there_when_the_job_is_over(state):
    """Who waits for the job finds the state told: report, graders run, and no run under way."""
    for _ in range(5):
        report = state.start().report(60)
        assert state.report is report
        assert not state.running


def test_a_state_that_is_closed_stops_its_run():
    """Closing cancels what runs and says nothing more."""
    gate = threading.Event()
    state = State(using.ROWS, [using.gated(gate)], store=None)
    job = state.start()
    state.close()
    assert job.report(60).summary.loc["waits", "scored"] == 0
    assert state.problem is None


def test_versions_stand_on_the_rows_that_both_runs_have(state):
    """What a grader said before stands beside it, on fewer rows where the draws differ, and stays there."""
    state.start().report(60)
    state.add(wb.Contains(expected="no", name="has yes"))
    state.start().report(60)
    assert state.versions().graders == ["has yes", "exact", "short", "has yes (before)"]
    state.add(wb.Contains(expected="n", name="has yes"))
    state.start(8).report(60)
    versions = state.versions()
    assert (versions.graders, len(versions)) == (["has yes", "exact", "short", "has yes (before)"], 8)
    by_name = {
        name: versions.grades["has yes (before)"].scores[row] for row, name in enumerate(versions.samples.ids)
    }
    whole = wb.Contains(expected="no", name="has yes").run(state.samples, progress=False)
    for row, name in enumerate(whole.samples.ids):
        assert by_name.get(name, whole.grades["has yes"].scores[row]) == whole.grades["has yes"].scores[row]
    state.start(8).report(60)  # the same definition again: what it said before the change is not forgotten
    assert "has yes (before)" in state.versions().graders


def test_look_refuses_what_the_report_cannot_answer(state):
    """A condition of a grader that is not there changes nothing."""
    state.look({"label": True})
    assert state.where == ()
    state.start().report(60)
    state.look({"grader": "exact", "passed": True})
    with pytest.raises(wb.errors.ReportError, match="no grader 'other'"):
        state.look({"grader": "other", "passed": True})
    assert state.where == ({"grader": "exact", "passed": True},)
    state.look({"text": "1"}, add=True)
    assert len(state.where) == 2


# ---- everything the app does, the code API does


@pytest.mark.parametrize("n", [0, 10])
@pytest.mark.parametrize("labelled", [False, True])
def test_code_of_a_run_gives_the_same_report(app, n, labelled):
    """All rows or a draw, with labels of a column or of people: the same rows, grades and labels."""
    if labelled:
        app.state.label("row-2", True)
    app.state.start(n, seed=4, by="good" if n else None).report(60)
    again = using.repeated(app, "report")
    assert list(again.samples.ids) == list(app.report.samples.ids)
    assert again.scores.equals(app.report.scores)
    assert again.labels == app.report.labels


def test_code_of_a_run_with_a_list_of_labels_and_a_budget():
    """Labels given as a list need no name that the next cell does not have."""
    app = using.app_of(labels=[bool(row["good"]) for row in using.ROWS])
    app.state.start(8, budget=2.5).report(60)
    assert "budget=2.5" in app.state.code
    assert using.repeated(app, "report").labels == app.report.labels
    app.close()


def test_code_of_a_suites_run_keeps_names_weights_and_rule():
    """Names, weights and rule of a suite are in the code's report too, for all of its graders or some."""
    entries = [wb.Entry(using.GRADERS[0], "first", weight=3.0), wb.Entry(using.GRADERS[1], "second")]
    app = wb.Workbench(using.ROWS, wb.Suite(entries, combine=wb.combine.Mean(), name="both"), store=None)
    for names in (["first", "second"], ["second"]):
        app.state.choose(names)
        app.state.start().report(60)
        assert using.repeated(app, "report").scores.equals(app.report.scores)
    app.close()


def test_graders_that_do_not_run_again_keep_their_results(app):
    """One is changed and run alone on the same rows: the others stand beside it as they were, in their order."""
    app.state.start(12).report(60)
    before = app.report
    app.state.add(wb.ExactMatch(name="exact", ignore_case=True))
    app.state.choose(["exact"])
    app.state.start(12).report(60)
    assert app.report.graders == before.graders
    kept = [name for name in before.graders if name != "exact"]
    assert app.report.scores[kept].equals(before.scores[kept])
    assert {finding.grader for finding in app.report.findings} >= {
        finding.grader for finding in before.findings if finding.grader in kept
    }
    assert using.repeated(app, "report").scores.equals(app.report.scores)
    assert app.versions.graders == [*before.graders, "exact (before)"]


def test_what_is_out_of_date_is_not_kept(app):
    """On other rows, after a change, or once removed, what a grader said does not stand beside the new run."""
    app.state.start(12).report(60)
    app.state.choose(["exact"])
    app.state.start(8, seed=5).report(60)
    assert app.report.graders == ["exact"]
    app.state.choose(app.graders)
    app.state.start(12).report(60)
    app.state.add(wb.Contains(expected="new", name="has yes"))
    app.state.remove("short")
    app.state.choose(["exact"])
    app.state.start(12).report(60)
    assert app.report.graders == ["exact"]
    assert "app.beside" not in app.state.code


def test_results_of_other_texts_are_not_joined(app):
    """The same ids over other completions: what graders said of the old ones does not stand beside them."""
    app.state.start().report(60)
    others = [{**row, "completion": "something else"} for row in using.ROWS]
    own = wb.Suite([wb.Contains(expected="z", name="new")]).run(others, progress=False)
    assert app.beside(own).graders == ["new"]
    same = wb.Suite([wb.Contains(expected="z", name="new")]).run(app.samples, progress=False)
    assert app.beside(same).graders == [*app.report.graders, "new"]


def test_a_run_that_was_cut_off_is_told_as_long_as_its_rows_are_shown():
    """Interrupted, then another grader runs: the note of the first stands in the report, not in what the second did."""
    gate = threading.Event()
    app = using.app_of([using.gated(gate), using.GRADERS[0]])
    job = app.state.start()
    app.state.cancel()
    job.report(60)
    gate.set()
    (note,) = app.report.notes
    app.state.choose([using.GRADERS[0].name])
    app.state.start().report(60)
    assert app.report.notes == (note,)
    assert app.state.ran.notes == ()
    assert app.state.ran.graders == [using.GRADERS[0].name]
    app.state.choose(["waits"])
    app.state.start().report(60)
    assert app.report.notes == ()
    app.close()


def test_a_grader_of_another_kind_has_no_source_of_the_one_before(app):
    """A function becomes a rule: no report shows the old text beside the rule's scores."""
    app.state.add(half(name="exact"))
    app.state.start().report(60)
    app.state.add(wb.Contains(expected="yes", name="exact"))
    app.state.choose(["exact"])
    app.state.start().report(60)
    assert "exact" not in app.report.sources


def test_labels_that_were_all_undone_leave_the_findings():
    """The report is read without any, and nothing is left to be used."""
    app = using.app_of()
    app.state.start().report(60)
    app.state.label("row-1", True)
    app.state.relabel()
    assert app.report.labels[1] is True
    app.state.undo_label()
    app.state.relabel()
    assert app.report.labels is None
    assert not app.state.labelling.fresh(app.report)
    assert list(map(str, using.repeated(app, "report").findings)) == list(map(str, app.report.findings))
    app.close()


# ---- what is taken away


def test_what_is_put_back_is_as_it_was(app):
    """Its place, choice, results and cell come back; several, the last one first."""
    app.state.choose(["exact", "short"])
    app.state.start().report(60)
    before = (list(app.graders), app.state.chosen, app.state.unrun, dict(app.state._outside))
    for name in ("has yes", "exact"):
        app.state.take_away(name)
    assert list(app.graders) == ["short"]
    assert [app.state.put_back(), app.state.put_back()] == ["exact", "has yes"]
    assert (list(app.graders), app.state.chosen, app.state.unrun, dict(app.state._outside)) == before
    with pytest.raises(WorkbenchError, match="no grader was taken away"):
        app.state.put_back()


def test_one_that_was_replaced_and_the_other_take_turns(app):
    """Nothing is lost where another grader took the name meanwhile: each can be put back in place of the other."""
    app.state.write(using.HALF, name="mine")
    app.state.write(using.HALF.replace("0.5", "0.25"), name="mine")
    for value in ("0.5", "0.25", "0.5"):
        app.state.put_back()
        assert value in app.graders["mine"].source.text
    app.state.take_away("exact")
    app.state.add(wb.Contains(expected="other", name="exact"))
    app.state.put_back()
    assert isinstance(app.graders["exact"], wb.ExactMatch)
    app.state.put_back()
    assert app.graders["exact"].expected == "other"


def test_code_of_a_look_gives_the_selected_rows(app):
    """The rows of the code are those the app shows."""
    app.state.start().report(60)
    for where in (
        [{"grader": "exact", "passed": True}],
        [{"any": [[{"label": True}], [{"text": "question 3"}]]}, {"wrong": "exact"}],
        [{"apart": ["exact", "short"], "least": 0.5}, {"text": 'it\'s "1"'}],
    ):
        app.state.look(*where)
        assert using.valued(app).equals(app.selected)


def test_code_of_new_labels_gives_the_same_findings(app):
    """Findings read anew with labels of people, over a draw."""
    app.state.start(12).report(60)
    for row in app.report.samples.ids[:5]:
        app.state.label(row, False)
    app.state.relabel()
    again = using.repeated(app, "report")
    assert again.labels == app.report.labels
    assert again.findings == app.report.findings


def test_code_of_a_label_and_of_its_undo(app):
    """The code puts the same label, and takes it back."""
    store = app.state.labelling.store
    app.state.label("row-3", False, 'it\'s "so"\n')
    kept = store.labels.latest(dataset=app.state.labelling.dataset)["row-3"]
    put = app.state.code
    app.state.undo_label()
    undo = app.state.code
    assert store.labels.latest(dataset=app.state.labelling.dataset) == {}
    exec(put, {"wb": wb, "app": app})
    again = store.labels.latest(dataset=app.state.labelling.dataset)["row-3"]
    assert (again.value, again.labeller, again.note) == (kept.value, kept.labeller, kept.note)
    exec(undo, {"wb": wb, "app": app})
    assert store.labels.latest(dataset=app.state.labelling.dataset) == {}


def test_code_of_a_label_in_memory_reaches_the_apps_store():
    """A store in memory has no address: the code names the app's own."""
    app = using.app_of()
    app.state.label("row-3", True)
    app.state.labelling.undo()
    using.repeated(app)
    assert app.state.labelling.store.labels.latest(dataset=app.state.labelling.dataset)["row-3"].value is True
    app.close()


def test_code_of_a_proof(app):
    """The code validates the same grader."""
    app.add(half())
    app.state.validate("half")
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
    name = app.state.write(text, name=name)
    made = app.graders[name]
    app.state.remove(name)
    assert using.repeated(app, "grader") == made or app.graders[name].spec() == made.spec()
    assert app.graders[name].name == name


def test_code_of_a_written_function_is_a_cell(app):
    """A function is told as a %%grader cell, which makes the same grader and puts it into the open app."""
    testing = pytest.importorskip("IPython.core.interactiveshell")
    shell = testing.InteractiveShell()
    shell.run_line_magic("load_ext", "workbench")
    for text, name in ((using.HALF, "written"), ("function grade(sample) { return 1.0 }\n", "scripted")):
        app.state.write(text, name=name)
        made = app.state.graders[name]
        code = app.state.code
        assert code.startswith("%%grader")
        app.state.remove(name)
        assert shell.run_cell(code).success
        again = app.state.graders[name]
        assert again.source.text.strip() == made.source.text.strip()
        assert again.name == made.name
        assert again.validation.ok


def test_code_of_a_comparison(app):
    """The code compares the same two, also with what one said before."""
    app.state.start().report(60)
    app.state.compared("exact", "short")
    assert str(using.valued(app)) == str(app.report.compare("exact", "short"))
    app.add(wb.Contains(expected="no", name="exact"))
    app.state.start().report(60)
    app.state.compared("exact (before)", "exact")
    assert str(using.valued(app)) == str(app.versions.compare("exact (before)", "exact"))


def test_a_run_knows_what_another_notebook_labelled(tmp_path):
    """Labels that came into the store since are in the next report, and read anew they are in the findings."""
    url = f"sqlite:///{tmp_path}/labels.db"
    one, two = (State(using.ROWS, list(using.GRADERS), store=url) for _ in range(2))
    assert one.start().report(60).labels is None
    two.label("row-3", True)
    assert one.start().report(60).labels[3] is True
    two.label("row-4", False)
    one.relabel()
    assert one.report.labels[3:5] == [True, False]
    one.close()
    two.close()


def test_closing_in_the_middle_of_a_run_with_a_store_is_no_error(tmp_path):
    """The run ends as one that was stopped, although the store is closed under it."""
    gate = threading.Event()
    state = State(using.ROWS, [using.GRADERS[0], using.gated(gate)], store=f"sqlite:///{tmp_path}/labels.db")
    told = threading.Event()
    state.observe(lambda _: told.set(), "progress")
    job = state.start()
    assert told.wait(60)
    state.close()
    assert job.report(60).summary.loc["has yes", "scored"] == 24
    assert state.problem is None
