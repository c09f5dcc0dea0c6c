"""Labels in the app belong to the text that was labelled, and an undo to the session that labelled."""

import json

import pytest

import workbench as wb
from tests.widgets import using
from workbench.errors import WorkbenchError
from workbench.session.code_lines import label_code, undo_code
from workbench.session.labelled_texts import Texts
from workbench.session.labels import Labelling


def file_of(folder, say, ids="abcd"):
    """A file of answers; in every folder its name and ids are the same."""
    folder.mkdir(exist_ok=True)
    rows = [{"id": one, "prompt": f"q{one}", "completion": say(one), "good": True} for one in ids]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return wb.read_samples(folder / "answers.jsonl")


@pytest.fixture
def models(tmp_path):
    """The answers of two models to the same prompts, and those of a third that answers half of them as the first."""
    said = {
        "one": lambda _: "yes",
        "two": lambda _: "no",
        "three": lambda one: "yes" if one in "ab" else "no",
    }
    return {name: file_of(tmp_path / name, say) for name, say in said.items()}


@pytest.fixture
def opened(tmp_path):
    """Labellings over one store, closed in the end."""
    made = []

    def new(samples, labels=None):
        made.append(Labelling(samples, labels, str(tmp_path / "l.db"), labeller="ada"))
        return made[-1]

    yield new
    for one in made:
        one.close()


def test_another_models_answers_have_no_labels(models, opened):
    """Under the same file name and ids: nothing is known of them, and how many labels were of others is told."""
    first = opened(models["one"])
    for name in "abcd":
        first.put(name, True)
    assert first.of_other_texts == 0
    second, third = opened(models["two"]), opened(models["three"])
    assert second.dataset == first.dataset
    assert (second.known(models["two"]), second.held, second.own, second.of_other_texts) == (None, {}, {}, 4)
    assert (second.counts["good"], second.others(), second.code_for("rows")) == (0, [], "")
    assert (third.known(models["three"]), third.of_other_texts) == ([True, True, None, None], 2)
    second.put("a", False)
    assert (second.known(models["two"]), second.of_other_texts) == ([False, None, None, None], 3)
    second.undo()
    assert (second.held, second.of_other_texts) == ({}, 4)


def test_whoever_goes_back_finds_the_labels_of_before(models, opened):
    """What was said of the second model's answers neither hides nor changes what was said of the first's."""
    opened(models["one"]).put("a", True)
    opened(models["two"]).put("a", False)
    again = opened(models["one"])
    assert (again.known(models["one"]), again.of_other_texts, len(again.own)) == (
        [True, None, None, None],
        0,
        1,
    )


def test_rows_of_other_samples_are_read_too(models, opened):
    """`app.labels_of` takes any rows: the labels of this app's texts do not go to others under their ids."""
    labelling = opened(models["one"])
    for name in "abc":
        labelling.put(name, True, drawn="random")
    assert labelling.known(models["three"]) == [True, True, None, None]
    assert labelling.shown(models["three"].take([2, 0])) == [None, True]
    assert labelling.known(models["two"]) is None
    assert labelling.counted(models["three"]).labels == [True, True, None, None]
    assert labelling.known(models["one"].take([2])) == [True]


def test_a_columns_labels_are_of_its_texts(models, opened):
    """Rows of another dataset have those of the rows that say the same; nothing is read for views of this one."""
    labelling = opened(models["one"], [True, False, True, None])
    assert labelling.known(models["two"]) is None
    assert labelling.known(models["three"].take([3, 1, 0, 2])) == [None, False, True, None]
    labelling.store.labels.put("d", True, dataset=labelling.dataset, drawn="as shown")
    labelling.reload()
    assert labelling.known(models["two"]) is None
    assert labelling.shown(models["two"]) == [None, None, None, True]


def test_a_column_of_this_dataset_needs_no_digests(models, opened, monkeypatch):
    """Neither for the dataset nor for a view: there may be a hundred thousand rows."""
    from workbench.session import labelled_texts as texts

    monkeypatch.setattr(texts, "digests_of", None)
    labelling = opened(models["one"], "good")
    assert labelling.known(models["one"]) == [True] * 4
    assert labelling.known(models["one"].take([2, 0])) == [True, True]


@pytest.mark.parametrize("column", [None, "truth"])
def test_a_view_may_have_a_row_twice(column):
    """Each of its rows has the label, whichever of the two datasets is labelled."""
    rows = [{"id": f"r{n}", "prompt": "p", "completion": f"c{n}", "truth": n % 2 == 0} for n in range(3)]
    samples = wb.Samples(rows)
    view = samples.take([0, 0, 1, 2])
    known = [True, True, False, True] if column else None
    for labelled in (samples, view):
        labelling = Labelling(labelled, column, None)
        assert labelling.known(view) == known
        labelling.put("r0", False)
        labelling.put("r2", True)
        assert labelling.known(view) == [False, False, False if column else None, True]
        assert labelling.shown(view.take([3, 1, 0])) == [True, False, False]
        assert (labelling.counted(view).labels, labelling.counted(view).n) == ([False, False, None, True], 3)
        labelling.close()


def test_labels_by_id_alone_hold(models, opened):
    """Code, or an older store, that does not say what was labelled is believed."""
    labelling = opened(models["one"])
    labelling.store.labels.put("a", True, dataset=labelling.dataset)
    assert opened(models["two"]).known(models["two"]) == [True, None, None, None]


def test_samples_that_are_not_here_stay_counted(models, opened):
    """A label of a row that a smaller dataset leaves out is no label of another text."""
    opened(models["one"]).put("d", True)
    some = opened(models["one"].take([0, 1]))
    assert (some.counts["good"], some.of_other_texts, some.known(some.samples)) == (1, 0, None)


def test_digests_are_made_for_labelled_rows_only(models, opened, monkeypatch):
    """And once: a large dataset is not read for a few labels."""
    from workbench.session import labelled_texts as texts

    asked = []
    made = texts.digests_of
    monkeypatch.setattr(
        texts, "digests_of", lambda samples, rows: asked.append(list(rows)) or made(samples, rows)
    )
    labelling = opened(models["one"])
    assert (labelling.held, asked) == ({}, [])
    labelling.put("c", True)
    labelling.reload()
    assert (len(labelling.held), asked) == (1, [[2]])
    assert Texts(models["one"]).digests(["no", "b"]).keys() == {"b"}


def test_a_row_that_cannot_be_read_is_labelled_by_its_id(tmp_path):
    """There is nothing that it says; the code names it as the label does."""
    samples = wb.Samples([*using.ROWS[:2], {"id": "odd", "prompt": "p", "completion": {1: object()}}])
    labelling = Labelling(samples, None, str(tmp_path / "l.db"))
    labelling.put("odd", False)
    labelling.reload()
    assert (labelling.held["odd"].digest, labelling.held["odd"].value) == ("", False)
    assert ".put('odd', False" in label_code(labelling, "odd", False, "")
    assert ".undo(app.samples[1]" in undo_code(labelling, "row-1")
    assert labelling.undo() == "odd"
    labelling.close()


@pytest.fixture
def two(tmp_path):
    """Two notebooks whose labeller has the same name: none."""
    made = [Labelling(wb.Samples(using.ROWS), None, str(tmp_path / "l.db"), dataset="d") for _ in range(2)]
    yield made
    for one in made:
        one.close()


def test_an_undo_leaves_what_another_app_said(two):
    """It is refused in words, the other label is read, and the undo before it is next."""
    mine, theirs = two
    mine.put("row-0", True)
    mine.put("row-1", True)
    theirs.put("row-1", False)
    with pytest.raises(WorkbenchError, match="labelled again elsewhere"):
        mine.undo()
    assert (mine.held["row-1"].value, mine.own["row-1"].value, mine.last) == (False, False, "row-0")
    assert mine.undo() == "row-0"
    theirs.reload()
    assert {name: label.value for name, label in theirs.held.items()} == {"row-1": False}


def test_an_undo_goes_back_through_ones_own_labels(two):
    """A label that an undo brought back can be undone in its turn, but not where it is another's."""
    mine, theirs = two
    for value in (True, False, None):
        mine.put("row-0", value)
    assert [(mine.undo(), mine.held["row-0"].value) for _ in range(2)] == [("row-0", False), ("row-0", True)]
    theirs.reload()
    theirs.put("row-0", None)
    mine.put("row-0", False)
    mine.undo()
    assert mine.held["row-0"].value is None
    with pytest.raises(WorkbenchError, match="labelled again elsewhere"):
        mine.undo()
    assert mine.last is None


def test_an_undo_brings_back_what_code_said_between(two):
    """Of the id alone: it is no label of this session, which its own label under it is again once that is gone."""
    mine, _ = two
    mine.put("row-0", True)
    mine.store.labels.put("row-0", False, dataset="d")
    mine.reload()
    mine.put("row-0", None)
    assert (mine.undo(), mine.held["row-0"].value) == ("row-0", False)
    mine.store.labels.undo("row-0", dataset="d")
    mine.reload()
    assert mine.held["row-0"].value is True
    assert (mine.undo(), mine.held) == ("row-0", {})


def test_what_was_taken_back_elsewhere_is_told(two):
    """The other notebook, or code, undid it first."""
    mine, _ = two
    mine.put("row-0", True)
    with wb.open_store(mine.store_url) as store:
        store.labels.undo("row-0", dataset="d")
    with pytest.raises(WorkbenchError, match="taken back elsewhere"):
        mine.undo()
    assert (mine.held, mine.last) == ({}, None)


def test_a_full_disk_leaves_the_undo_to_be_done(two, monkeypatch):
    """Only a label that is gone leaves the list."""

    def full(*_args, **_named):
        raise wb.errors.StoreError("the disk is full")

    mine, _ = two
    mine.put("row-0", True)
    with monkeypatch.context() as broken:
        broken.setattr(type(mine.store.labels), "undo", full)
        with pytest.raises(wb.errors.StoreError, match="disk is full"):
            mine.undo()
    assert mine.undo() == "row-0"


def test_the_panel_shows_the_label_that_an_undo_left_alone(tmp_path):
    """The error says so, the counts are those of the store, and the card that is read stays."""
    panels = [
        wb.widgets.LabelPanel(using.ROWS, [using.GRADERS[0]], store=str(tmp_path / "l.db")) for _ in range(2)
    ]
    mine, theirs = panels
    mine.card.decide("good")
    theirs.card.decide("bad")
    shown = mine.card.card
    mine.card.decide("undo")
    assert "labelled again elsewhere" in mine._alert.value
    assert "0 good, 1 bad, 0 skipped" in mine.kept.value
    assert (mine.card.card["id"], mine.card.done) == (shown["id"], 1)
    for panel in panels:
        panel.close()
