"""Cells and their views, as a notebook's front end names them."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.widgets import notebook as cell_state


def is_closed(view):
    """Whether a view has no widget any more."""
    return view.comm is None


class Notebook:
    """Sets which cell runs, and which run of it."""

    def __init__(self):
        self.now = ("", "")

    def run(self, name, make):
        """Run a cell."""
        self.now = (name, uuid.uuid4().hex)
        try:
            return make()
        finally:
            self.now = ("", "")


@pytest.fixture
def notebook(monkeypatch):
    """A notebook; all its views are closed in the end."""
    made = Notebook()
    monkeypatch.setattr(cell_state, "current_cell", lambda: made.now)
    yield made
    for cell_view in list(cell_state._views.values()):
        cell_view.view.close()
    assert cell_state._views == {}


def test_a_cell_run_again_keeps_its_session_and_closes_its_view(notebook):
    """Equal or identical samples: the session continues, the old view is closed."""
    first = notebook.run("a", using.app_of)
    report = using.ran(first).results.report
    again = notebook.run("a", lambda: using.app_of(samples=[dict(row) for row in using.ROWS]))
    assert again.session is first.session
    assert again.report is report
    assert is_closed(first)
    assert not is_closed(again)


@pytest.mark.parametrize(
    "changed",
    [{"samples": using.ROWS[:5]}, {"labels": "good"}, {"labeller": "bob"}, {"dataset": "other"}, {"store": "sqlite://"},
     {"samples": [{**row, "completion": "x"} for row in using.ROWS]}],
)  # fmt: skip
def test_another_question_is_another_session(notebook, changed):
    """Other rows, other contents of the same ids, or another setting start a new session; the old one is closed."""
    first = notebook.run("a", using.app_of)
    again = notebook.run("a", lambda: using.app_of(**changed))
    assert again.session is not first.session
    first.session.graders.add(using.gated(None, name="alive"))  # it hears nothing, and harms nothing
    assert "alive" not in again.graders


MANY = [{"id": str(n), "prompt": f"q{n}", "completion": "yes"} for n in range(3_000)]
"""So many that an array of their labels has a cut repr."""


@pytest.mark.parametrize("column", [np.array, pd.Series, list], ids=lambda one: one.__name__)
def test_labels_count_by_what_they_hold(notebook, column):
    """Equal labels in a new object continue the session; one different label, deep inside, starts a new one."""
    good = [True] * len(MANY)
    one_bad = [*good[:1_500], False, *good[1_501:]]
    graders = [using.GRADERS[0]]
    first = notebook.run("a", lambda: using.app_of(graders, MANY, labels=column(good)))
    again = notebook.run("a", lambda: using.app_of(graders, MANY, labels=column(good)))
    assert again.session is first.session
    changed = notebook.run("a", lambda: using.app_of(graders, MANY, labels=column(one_bad)))
    assert changed.session is not first.session
    assert changed.labels == one_bad


def test_labels_changed_in_place_are_other_labels(notebook):
    """The same list object with another entry is read again."""
    labels = [True] * len(using.ROWS)
    first = notebook.run("a", lambda: using.app_of(labels=labels))
    assert notebook.run("a", lambda: using.app_of(labels=labels)).session is first.session
    labels[3] = False
    again = notebook.run("a", lambda: using.app_of(labels=labels))
    assert again.labels == labels


def test_a_store_is_itself_and_an_address_is_its_text(notebook, tmp_path):
    """A new store is different, even with an equal address; an address leads to the same store again."""
    with wb.open_store("sqlite://") as one, wb.open_store("sqlite://") as two:
        first = notebook.run("a", lambda: using.app_of(store=one))
        assert notebook.run("a", lambda: using.app_of(store=one)).session is first.session
        again = notebook.run("a", lambda: using.app_of(store=two))
        again.session.label("row-0", True)
        dataset = again.session.labels.dataset
        assert (len(one.labels.latest(dataset=dataset)), len(two.labels.latest(dataset=dataset))) == (0, 1)
    address = f"sqlite:///{tmp_path / 'labels.db'}"
    first = notebook.run("b", lambda: using.app_of(store=address))
    assert notebook.run("b", lambda: using.app_of(store="".join(address))).session is first.session


@pytest.mark.parametrize("key", ["id", "group", "expected", "good"])
def test_any_part_of_the_rows_that_changed_is_seen(notebook, key):
    """Ids, groups, references and metadata are read again if one of them differs."""
    changed = [dict(row) for row in using.ROWS]
    changed[7][key] = "another"
    columns = {"group": "group", "reference": "expected", "id": "id"}

    def make(rows):
        return lambda: using.app_of(samples=wb.Samples(rows, columns=columns))

    first = notebook.run("a", make(using.ROWS))
    assert notebook.run("a", make(using.ROWS)).session is first.session
    again = notebook.run("a", make(changed))
    assert again.session is not first.session
    assert again.samples.frame[key][7] == "another"


def test_a_reference_of_another_type_is_another(notebook):
    """1 and True are equal in Python, and not in a dataset."""
    first, again = (
        notebook.run("a", lambda rows=rows: using.app_of(samples=wb.Samples(rows)))
        for rows in ([{"completion": "x", "reference": 1}], [{"completion": "x", "reference": True}])
    )
    assert again.session is not first.session


def test_groups_that_changed_alone_are_seen(notebook):
    """The group column is in no thread: it counts by itself."""
    rows = pd.DataFrame(
        {"prompt": ["q"] * 20, "completion": ["yes"] * 20, "group": [str(n) for n in range(20)]}
    )
    first = notebook.run("a", lambda: using.app_of(samples=rows))
    again = notebook.run("a", lambda: using.app_of(samples=rows.assign(group="all")))
    assert len(set(first.samples.groups)) == 20
    assert set(again.samples.groups) == {"all"}


def test_the_same_rows_of_another_file_are_another_dataset(notebook, tmp_path):
    """Labels are stored under the file's name, so the name counts."""
    for name in ("one.csv", "two.csv"):
        pd.DataFrame(using.ROWS).to_csv(tmp_path / name, index=False)
    first = notebook.run("a", lambda: using.app_of(samples=tmp_path / "one.csv"))
    assert notebook.run("a", lambda: using.app_of(samples=tmp_path / "one.csv")).session is first.session
    again = notebook.run("a", lambda: using.app_of(samples=tmp_path / "two.csv"))
    assert again.session.labels.dataset == "two.csv"


def test_a_setting_that_no_view_takes_is_still_an_error(notebook):
    """A second run with an unknown argument is refused like the first."""
    notebook.run("a", using.app_of)
    with pytest.raises(TypeError, match="colour"):
        notebook.run("a", lambda: using.app_of(colour="red"))


def test_graders_of_the_second_run_are_taken(notebook):
    """Graders are those of the cell now; those written in the app remain."""
    first = notebook.run("a", using.app_of)
    first.session.graders.add_text(using.HALF, name="mine")
    again = notebook.run("a", lambda: using.app_of([using.GRADERS[0]]))
    assert again.session is first.session
    assert list(again.graders) == ["has yes", "mine"]


def test_cells_and_kinds_do_not_share(notebook):
    """Another cell, or another kind of view in one cell, has its own session."""
    one = notebook.run("a", using.app_of)
    two = notebook.run("b", using.app_of)
    three = notebook.run("a", lambda: wb.widgets.RunPanel(using.ROWS, list(using.GRADERS), store=None))
    assert len({id(view.session) for view in (one, two, three)}) == 3
    assert not is_closed(one)


def test_several_of_a_kind_in_one_cell(notebook):
    """Views of one run coexist; a second run gives each its session back."""

    def both():
        return [using.app_of(), using.app_of(samples=using.ROWS[:3])]

    one, two = notebook.run("a", both)
    assert not is_closed(one)
    assert not is_closed(two)
    three, four = notebook.run("a", both)
    assert (three.session is one.session, four.session is two.session) == (True, True)
    assert is_closed(one)
    assert is_closed(two)


def test_a_closed_view_is_forgotten(notebook):
    """After close a cell starts a new session."""
    first = notebook.run("a", using.app_of)
    first.close()
    assert notebook.run("a", using.app_of).session is not first.session


def test_a_view_that_cannot_be_made_leaves_the_cell_as_it_was(notebook):
    """An error in a second run leaves the first view in the page and its session known."""
    first = notebook.run("a", using.app_of)
    with pytest.raises(wb.errors.SamplesError):
        notebook.run("a", lambda: using.app_of(samples="no such file.jsonl"))
    assert not is_closed(first)
    assert notebook.run("a", using.app_of).session is first.session


@pytest.mark.parametrize("settings", [{}, {"labels": "good"}], ids=["same", "labelled"])
def test_what_is_being_written_outlives_its_widget(notebook, settings):
    """An invalid text and a note without a label are restored when the cell runs again, also with labels."""
    coded = wb.FunctionGrader.from_source(using.HALF, name="coded")
    first = using.WidgetPage(notebook.run("a", lambda: using.app_of([coded])))
    first.tell("edit", name="coded", text="async def grade(thread", seq=1)
    first.tell("mode", mode="label")
    card = first.label["cards"][0]
    first.tell("label", action="note", seq=card["seq"], note="half a note", turn=1)
    again = using.WidgetPage(notebook.run("a", lambda: using.app_of([coded], **settings))).opened()
    assert again.chosen["source"]["text"] == "async def grade(thread"
    assert again.chosen["source"]["error"] is not None
    again.tell("mode", mode="label")
    assert (again.label["cards"][0]["id"], again.label["cards"][0]["note"]) == (card["id"], "half a note")


def test_what_is_looked_at_outlives_its_widget(notebook):
    """The report, the chips above the rows and the row that is read are those of before."""
    first = using.WidgetPage(notebook.run("a", using.app_of)).opened()
    first.tell("look", where=[{"grader": "exact", "passed": True}])
    first.tell("select", row=1)
    again = using.WidgetPage(notebook.run("a", using.app_of))
    assert again.table == first.table | {"revision": again.table["revision"]}
    assert (again.reader["id"], again.rail["lines"]) == ("row-1", first.rail["lines"])


def test_graders_written_in_the_app_go_on_with_other_rows(notebook):
    """One row more, or labels: what was written or edited in the app stays, what its cell redefines is the cell's."""
    first = notebook.run("a", using.app_of)
    first.session.graders.add_text(using.HALF, name="written")
    given = next(iter(first.graders))
    first.session.graders.add(wb.Contains(expected="edited", name=given))
    again = notebook.run("a", lambda: using.app_of(samples=using.ROWS[:5]))
    assert "written" in again.graders
    assert again.graders[given].expected == "edited"
    redefined = [wb.Contains(expected="new", name=given)]
    last = notebook.run("a", lambda: using.app_of(redefined, using.ROWS[:4]))
    assert last.graders[given].expected == "new"
    assert "written" in last.graders


def test_graders_of_other_cells_go_on_with_other_rows(notebook):
    """Defined in a later cell, not given to the app: still there with one row less, and as chosen as before."""
    first = notebook.run("a", using.app_of)
    first.session.graders.define(wb.FunctionGrader.from_source(using.HALF, name="later"))
    first.session.graders.choose(["later"])
    again = notebook.run("a", lambda: using.app_of(samples=using.ROWS[:5]))
    assert list(again.graders) == [*first.graders]
    assert again.session.graders.chosen == ("later",)


def test_a_note_is_about_its_text(notebook):
    """With a row less it is there; under the same id of another text it is not."""
    first = using.WidgetPage(notebook.run("a", lambda: using.app_of(dataset="mine")))
    first.tell("mode", mode="label")
    card = first.label["cards"][0]
    first.tell("label", action="note", seq=card["seq"], note="half", turn=1)
    others = [{**row, "completion": "something else"} for row in using.ROWS]
    fewer = [row for row in using.ROWS if row["id"] in {card["id"], "row-0", "row-1"}]
    for rows, note in ((others, ""), (fewer, "half")):
        again = using.WidgetPage(
            notebook.run("a", lambda rows=rows: using.app_of(samples=rows, dataset="mine"))
        )
        again.tell("mode", mode="label")
        assert [each["note"] for each in again.label["cards"] if each["id"] == card["id"]] == [note]


def test_what_was_kept_in_a_file_that_is_gone_is_not_kept(notebook, tmp_path):
    """The cell runs again over a deleted store: nothing counts as saved in the new one, and it can be saved again."""
    store = tmp_path / "kept.db"
    first = using.WidgetPage(notebook.run("a", lambda: using.app_of(store=str(store))))
    first.tell("keep", name="has yes")
    assert first.chosen["stored"] == 1
    for file in tmp_path.iterdir():
        file.unlink()
    again = using.WidgetPage(notebook.run("a", lambda: using.app_of(store=str(store))))
    assert (again.chosen["stored"], again.problem) == (0, None)
    again.tell("keep", name="has yes")
    assert (again.problem, again.chosen["stored"]) == (None, 1)
    assert "stored has yes" in [starter["id"] for starter in again.starters]
