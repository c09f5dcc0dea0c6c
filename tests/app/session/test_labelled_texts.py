"""Labels in the app belong to the text that was labelled, and an undo to the session that labelled."""

import json

import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.action import label_code, undo_code
from workbench.app.session.label_queue import LabelledTexts
from workbench.core.errors import WorkbenchError


def file_of(folder, say, ids="abcd"):
    """A file of completions; in every folder its name and ids are the same."""
    folder.mkdir(exist_ok=True)
    rows = [{"id": one, "prompt": f"q{one}", "completion": say(one), "good": True} for one in ids]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return wb.read_samples(folder / "answers.jsonl")


@pytest.fixture
def models(tmp_path):
    """The completions of two models for the same prompts, and those of a third that equal the first's for half of them."""
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
        made.append(using.labels_of(samples, labels, str(tmp_path / "l.db"), labeller="ada"))
        return made[-1]

    yield new
    for one in made:
        one.storage.close()


def test_another_models_answers_have_no_labels(models, opened):
    """Under the same file name and ids: they have no labels, and the number of labels of other texts is reported."""
    first = opened(models["one"])
    for name in "abcd":
        first.put(name, True)
    assert first.n_mismatched == 0
    second, third = opened(models["two"]), opened(models["three"])
    assert second.dataset == first.dataset
    assert (second.for_rates(models["two"]), second.latest, second.own_labels, second.n_mismatched) == (
        None,
        {},
        {},
        4,
    )
    assert (second.counts["good"], second.agreements(), second.code_for("rows")) == (0, [], "")
    assert (third.for_rates(models["three"]), third.n_mismatched) == ([True, True, None, None], 2)
    second.put("a", False)
    assert (second.for_rates(models["two"]), second.n_mismatched) == ([False, None, None, None], 3)
    second.undo()
    assert (second.latest, second.n_mismatched) == ({}, 4)


def test_whoever_goes_back_finds_the_labels_of_before(models, opened):
    """Labels of the second model's completions neither hide nor change those of the first's."""
    opened(models["one"]).put("a", True)
    opened(models["two"]).put("a", False)
    again = opened(models["one"])
    assert (again.for_rates(models["one"]), again.n_mismatched, len(again.own_labels)) == (
        [True, None, None, None],
        0,
        1,
    )


def test_rows_of_other_samples_are_read_too(models, opened):
    """`app.labels_of` takes any rows: the labels of this app's texts do not go to others under their ids."""
    labels = opened(models["one"])
    for name in "abc":
        labels.note_drawn(name, "random")
        labels.put(name, True)
    assert labels.for_rates(models["three"]) == [True, True, None, None]
    assert labels.for_display(models["three"].take([2, 0])) == [None, True]
    assert labels.for_rates(models["two"]) is None
    assert labels.weighted(models["three"]).labels == [True, True, None, None]
    assert labels.for_rates(models["one"].take([2])) == [True]


def test_a_columns_labels_are_of_its_texts(models, opened):
    """Rows of another dataset get the labels of equal texts; nothing is read for views of this one."""
    labels = opened(models["one"], [True, False, True, None])
    assert labels.for_rates(models["two"]) is None
    assert labels.for_rates(models["three"].take([3, 1, 0, 2])) == [None, False, True, None]
    labels.storage.store.labels.put("d", True, dataset=labels.dataset, drawn="as shown")
    labels.reload()
    assert labels.for_rates(models["two"]) is None
    assert labels.for_display(models["two"]) == [None, None, None, True]


def test_a_column_of_this_dataset_needs_no_digests(models, opened, monkeypatch):
    """Neither for the dataset nor for a view: there may be a hundred thousand rows."""
    from workbench.app.session import label_queue as texts

    monkeypatch.setattr(texts, "digests_of", None)
    labels = opened(models["one"], "good")
    assert labels.for_rates(models["one"]) == [True] * 4
    assert labels.for_rates(models["one"].take([2, 0])) == [True, True]


@pytest.mark.parametrize("column", [None, "truth"])
def test_a_view_may_have_a_row_twice(column):
    """Each of its rows has the label, whichever of the two datasets is labelled."""
    rows = [{"id": f"r{n}", "prompt": "p", "completion": f"c{n}", "truth": n % 2 == 0} for n in range(3)]
    samples = wb.Samples(rows)
    view = samples.take([0, 0, 1, 2])
    known = [True, True, False, True] if column else None
    for labelled in (samples, view):
        labels = using.labels_of(labelled, column, None)
        assert labels.for_rates(view) == known
        labels.put("r0", False)
        labels.put("r2", True)
        assert labels.for_rates(view) == [False, False, False if column else None, True]
        assert labels.for_display(view.take([3, 1, 0])) == [True, False, False]
        assert (labels.weighted(view).labels, labels.weighted(view).n) == ([False, False, None, True], 3)
        labels.storage.close()


def test_labels_by_id_alone_hold(models, opened):
    """A label without a digest, from code or an older store, counts."""
    labels = opened(models["one"])
    labels.storage.store.labels.put("a", True, dataset=labels.dataset)
    assert opened(models["two"]).for_rates(models["two"]) == [True, None, None, None]


def test_samples_that_are_not_here_stay_counted(models, opened):
    """A label of a row that a smaller dataset omits is not a label of another text."""
    opened(models["one"]).put("d", True)
    some = opened(models["one"].take([0, 1]))
    assert (some.counts["good"], some.n_mismatched, some.for_rates(some.samples)) == (1, 0, None)


def test_digests_are_made_for_labelled_rows_only(models, opened, monkeypatch):
    """And once: a large dataset is not read for a few labels."""
    from workbench.app.session import label_queue as texts

    asked = []
    made = texts.digests_of
    monkeypatch.setattr(
        texts, "digests_of", lambda samples, rows: asked.append(list(rows)) or made(samples, rows)
    )
    labels = opened(models["one"])
    assert (labels.latest, asked) == ({}, [])
    labels.put("c", True)
    labels.reload()
    assert (len(labels.latest), asked) == (1, [[2]])
    assert LabelledTexts(models["one"]).digests(["no", "b"]).keys() == {"b"}


def test_a_row_that_cannot_be_read_is_labelled_by_its_id(tmp_path):
    """It has no text; the code names it as the label does."""
    samples = wb.Samples([*using.ROWS[:2], {"id": "odd", "prompt": "p", "completion": {1: object()}}])
    labels = using.labels_of(samples, None, str(tmp_path / "l.db"))
    labels.put("odd", False)
    labels.reload()
    assert (labels.latest["odd"].digest, labels.latest["odd"].value) == ("", False)
    assert ".put('odd', False" in label_code(labels, "odd", False, "")
    assert ".undo(app.samples[1]" in undo_code(labels, "row-1")
    assert labels.undo() == "odd"
    labels.storage.close()


@pytest.fixture
def two(tmp_path):
    """Two notebooks whose labeller has the same name: none."""
    made = [
        using.labels_of(wb.Samples(using.ROWS), None, str(tmp_path / "l.db"), dataset="d") for _ in range(2)
    ]
    yield made
    for one in made:
        one.storage.close()


def test_an_undo_leaves_what_another_app_said(two):
    """It is refused with an error, the other label is read, and the previous undo is next."""
    mine, theirs = two
    mine.put("row-0", True)
    mine.put("row-1", True)
    theirs.put("row-1", False)
    with pytest.raises(WorkbenchError, match="labelled again in another session"):
        mine.undo()
    assert (mine.latest["row-1"].value, mine.own_labels["row-1"].value, mine.last_labelled) == (
        False,
        False,
        "row-0",
    )
    assert mine.undo() == "row-0"
    theirs.reload()
    assert {name: label.value for name, label in theirs.latest.items()} == {"row-1": False}


def test_an_undo_goes_back_through_ones_own_labels(two):
    """A label that an undo restored can be undone as well, unless it is another labeller's."""
    mine, theirs = two
    for value in (True, False, None):
        mine.put("row-0", value)
    assert [(mine.undo(), mine.latest["row-0"].value) for _ in range(2)] == [
        ("row-0", False),
        ("row-0", True),
    ]
    theirs.reload()
    theirs.put("row-0", None)
    mine.put("row-0", False)
    mine.undo()
    assert mine.latest["row-0"].value is None
    with pytest.raises(WorkbenchError, match="labelled again in another session"):
        mine.undo()
    assert mine.last_labelled is None


def test_an_undo_brings_back_what_code_said_between(two):
    """By id only: it is not a label of this session, whose own label applies again once that one is gone."""
    mine, _ = two
    mine.put("row-0", True)
    mine.storage.store.labels.put("row-0", False, dataset="d")
    mine.reload()
    mine.put("row-0", None)
    assert (mine.undo(), mine.latest["row-0"].value) == ("row-0", False)
    mine.storage.store.labels.undo("row-0", dataset="d")
    mine.reload()
    assert mine.latest["row-0"].value is True
    assert (mine.undo(), mine.latest) == ("row-0", {})


def test_what_was_taken_back_elsewhere_is_told(two):
    """The other notebook, or code, undid it first."""
    mine, _ = two
    mine.put("row-0", True)
    with wb.open_store(mine.storage.url) as store:
        store.labels.undo("row-0", dataset="d")
    with pytest.raises(WorkbenchError, match="was undone in another session"):
        mine.undo()
    assert (mine.latest, mine.last_labelled) == ({}, None)


def test_a_full_disk_leaves_the_undo_to_be_done(two, monkeypatch):
    """Only a label that is gone leaves the list."""

    def full(*_args, **_named):
        raise wb.errors.StoreError("the disk is full")

    mine, _ = two
    mine.put("row-0", True)
    with monkeypatch.context() as broken:
        broken.setattr(type(mine.storage.store.labels), "undo", full)
        with pytest.raises(wb.errors.StoreError, match="disk is full"):
            mine.undo()
    assert mine.undo() == "row-0"
