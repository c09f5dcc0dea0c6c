"""Labels and the order of rows to label, without widgets."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.action import label_code, undo_code
from workbench.app.session.label_queue import ORDERS, LabelQueue
from workbench.app.session.versions import restricted
from workbench.core.errors import WorkbenchError

SAMPLES = wb.read_samples(using.ROWS)
REPORT = wb.Suite(list(using.GRADERS)).run(SAMPLES, progress=False)


async def fails(thread):
    """Some rows only."""
    if "3" in thread.get_turns()[0].content:
        raise ValueError("three")
    return len(thread.completion()) / 5


@cache
def report_of(n):
    """A run over the first rows; not at import, which a grader with an import path would wait for."""
    graders = [*using.GRADERS, wb.CustomGrader(fails, name="fails")]
    return wb.Suite(graders).run(SAMPLES.head(n), progress=False)


@pytest.fixture
def labels(tmp_path):
    """Labels over a column, in a store on disk."""
    made = using.labels_of(SAMPLES, "good", f"sqlite:///{tmp_path}/l.db", labeller="ada")
    yield made
    made.storage.close()


@given(
    st.sampled_from(list(ORDERS)), st.sampled_from([0, 1, 7, 24]), st.sampled_from([None, "exact", "unknown", "fails"]),
    st.booleans(),
)  # fmt: skip
def test_every_order_is_a_permutation(order, n, grader, run):
    """Each row of a report, with failed rows too, or of samples without one, stands in the queue once."""
    queue = LabelQueue(order, SAMPLES.head(n), report=report_of(n) if run else None, grader=grader)
    assert sorted(queue.rows.tolist()) == list(range(n))
    assert len(queue) == n


@given(st.lists(st.integers(0, 23), unique=True), st.sets(st.integers(0, 23)))
def test_next_is_the_first_that_nobody_decided(shown, decided):
    """The rows shown, in their order, less those decided; done counts the others."""
    queue = LabelQueue("as shown", SAMPLES, report=REPORT, shown=shown)
    names = {f"row-{row}": True for row in decided}
    rows = queue.rows.tolist()
    assert queue.next(names, 99) == [row for row in rows if row not in decided]
    assert queue.next(names, 2) == queue.next(names, 99)[:2]
    assert queue.done(names) == sum(row in decided for row in rows)
    if shown:
        assert rows == shown


def test_orders_are_the_same_each_time_and_unknown_ones_are_told():
    """The same report gives the same queue; an unknown order lists those there are."""
    for order in ORDERS:
        one, two = (LabelQueue(order, SAMPLES, report=REPORT).rows.tolist() for _ in range(2))
        assert one == two
    with pytest.raises(WorkbenchError, match="class-balanced"):
        LabelQueue("by chance", SAMPLES)


def test_disagreements_are_of_the_graders_own_scales():
    """A length in characters does not outweigh all the others by counting in hundreds."""
    rng = np.random.default_rng(2)
    rows = [{"prompt": "p", "completion": "x" * int(n)} for n in rng.integers(5, 300, 60)]
    one, two = (wb.CustomGrader(function, name=function.__name__) for function in (length, last_digit))
    report = wb.Suite([one, two]).run(rows, progress=False)
    scores = report.scores.to_numpy()
    scaled = scores / np.maximum(scores.max(0), 1)
    gaps = np.abs(scaled[:, 0] - scaled[:, 1])[
        LabelQueue("disagreement first", report.samples, report=report).rows
    ]
    assert np.all(np.diff(gaps) <= 1e-12)


async def length(thread):
    """Characters."""
    return float(len(thread.completion()))


async def last_digit(thread):
    """0 to 1."""
    return len(thread.completion()) % 10 / 9


def test_a_persons_label_goes_before_the_columns(labels):
    """The column's labels, overridden by users' labels; a skip does not override."""
    assert labels.for_rates(SAMPLES) == [bool(n % 2) for n in range(24)]
    labels.put("row-1", False)
    labels.put("row-3", None)
    labels.put("row-2", True, "note")
    known = labels.for_rates(SAMPLES.take([1, 2, 3, 4]))
    assert known == [False, True, True, False]
    assert labels.weighted(SAMPLES.take([1, 2, 3])).labels == [False, True, None]
    assert labels.counts == {"good": 1, "bad": 1, "skipped": 1}


def test_undo_takes_back_the_last_one_and_no_one_elses(labels):
    """The last label of this session goes; what another gave of the row is there again."""
    other = wb.open_store(labels.storage.url)
    other.labels.put("row-5", True, labeller="bob", dataset=labels.dataset)
    labels.reload()
    labels.put("row-5", False)
    assert labels.last_labelled == "row-5"
    assert labels.latest["row-5"].value is False
    assert labels.undo() == "row-5"
    assert labels.latest["row-5"].value is True
    with pytest.raises(WorkbenchError, match="no label to undo"):
        labels.undo()
    other.close()


def test_nothing_is_known_without_labels():
    """Without column and labels there is nothing, rather than a list of unknowns."""
    labels = using.labels_of(SAMPLES, None, None)
    assert labels.for_rates(SAMPLES) is None
    assert labels.for_display(SAMPLES) is None
    assert labels.weighted(SAMPLES).n == 0
    assert labels.code_for("rows") == ""
    labels.put("row-1", True)
    assert labels.for_rates(SAMPLES.take([0, 1])) == [None, True]
    labels.storage.close()


def named(path, *lines):
    """The dataset's name of a file with these lines."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps({"prompt": "p", **line}) + "\n" for line in lines), "utf-8")
    return using.labels_of(wb.read_samples(path), None, None).dataset


def test_the_datasets_name_is_its_files_or_its_contents(tmp_path):
    """A file with ids gives its name; a frame a name from its content; odd files valid names."""
    assert named(tmp_path / "rows.jsonl", {"id": "a", "completion": "c"}) == "rows.jsonl"
    names = {
        using.labels_of(wb.read_samples(rows), None, None).dataset
        for rows in (using.ROWS, using.ROWS[:5], using.ROWS[:5])
    }
    assert len(names) == 2
    odd = tmp_path / ("\u202e" + "x" * 190 + ".jsonl")
    odd.write_text('{"prompt": "p", "completion": "c"}\n', "utf-8")
    labels = using.labels_of(wb.read_samples(odd), None, None)
    labels.put("0", True)
    assert labels.latest["0"].value is True
    labels.storage.close()


def test_row_numbers_do_not_carry_labels_to_other_rows(tmp_path):
    """Without ids, another file of the same name, or the file less a line, is another dataset; more columns are not."""
    rows = [{"completion": text} for text in "abc"]
    first = named(tmp_path / "rows.jsonl", *rows)
    others = [
        named(tmp_path / "rows.jsonl", *rows[1:]),
        named(tmp_path / "other" / "rows.jsonl", *rows[:2], {"completion": "d"}),
    ]
    assert len({first, *others}) == 3
    assert named(tmp_path / "rows.jsonl", *({**row, "good": True} for row in rows)) == first
    assert first.startswith("rows.jsonl-")
    kept = [{"id": text, "completion": text} for text in "abc"]
    assert named(tmp_path / "ids.jsonl", *kept) == named(tmp_path / "ids.jsonl", *kept[1:])
    assert using.labels_of(SAMPLES, None, None, dataset="mine").dataset == "mine"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sqlite:///labels.db", "sqlite:///labels.db"),
        ("labels.db", "labels.db"),
        (Path("labels.db"), "labels.db"),
        ("postgresql://ann:s3cret@host/x", "postgresql+psycopg://ann:***@host/x"),
        ("postgresql://host/x?password=s3cret", "postgresql+psycopg://host/x?password=***"),
        ("nosuch://ann:s3cret@host/x", "nosuch://ann:***@host/x"),
        ("ann:s3cret@host", "***"),
        (None, ""),
    ],
)
def test_where_labels_are_kept_is_told_without_password(address, shown):
    """As given, without a password; the lines of code are the same."""
    labels = using.labels_of(SAMPLES, None, address)
    assert shown in labels.storage.url
    assert "s3cret" not in f"{labels.storage.url} {label_code(labels, 'a', True, '')}"
    assert "s3cret" not in undo_code(labels, "a")


def test_only_labels_of_rows_drawn_at_random_make_findings(labels):
    """Labels by hand, at random, or of rows the column has; the others are shown, and counted as left out."""
    plain = using.labels_of(SAMPLES, None, None)
    for row, drawn in enumerate(("", "random", "class-balanced 3/4", "disagreement first", "as shown")):
        plain.note_drawn(f"row-{row}", drawn)
        plain.put(f"row-{row}", True)
    assert plain.for_rates(SAMPLES.head(5)) == [True, True, None, None, None]
    assert plain.for_display(SAMPLES.head(5)) == [True] * 5
    assert plain.n_left_out == 3
    counted = plain.weighted(SAMPLES.head(6))
    assert (counted.labels, counted.n_chosen, counted.n) == ([True] * 3 + [None] * 3, 2, 3)
    plain.storage.close()
    labels.note_drawn("row-2", "as shown")
    labels.put("row-2", True)
    assert labels.for_rates(SAMPLES.take([2])) == [True], "the column has this row whoever looks at it"
    assert labels.n_left_out == 0


def test_a_row_stays_drawn_as_it_was_first(labels):
    """A changed label of a row drawn at random still counts as drawn at random; the default is how it was dealt."""
    labels.note_drawn("row-1", "random")
    labels.put("row-1", False)
    labels.note_drawn("row-1", "as shown")
    labels.put("row-1", True)
    assert labels.latest["row-1"].drawn == "random"
    labels.undo()
    assert (labels.latest["row-1"].value, labels.latest["row-1"].drawn) == (False, "random")


def test_two_labellers_are_compared_on_rows_both_labelled(labels):
    """Each has separate labels; the agreement of two is that of `wb.agreement`."""
    for row in range(10):
        labels.put(f"row-{row}", row % 2 == 0)
    labels.set_labeller("bob")
    assert labels.agreements() == []
    assert (labels.own_labels, len(labels.latest)) == ({}, 10)
    for row in range(5, 12):
        labels.put(f"row-{row}", row % 3 == 0)
    (found,) = labels.agreements()
    assert (found.grader, found.other, found.n) == ("bob", "ada", 5)
    assert found.observed.k == sum((row % 3 == 0) == (row % 2 == 0) for row in range(5, 10))


@pytest.fixture(scope="module")
def many():
    """Rows whose truth is known, and a report of a grader that accepts most of them."""
    rng = np.random.default_rng(1)
    truth = rng.random(3_000) < 0.8
    accepted = np.where(truth, rng.random(3_000) < 0.97, rng.random(3_000) < 0.3)
    rows = [{"prompt": f"q{n}", "completion": "yes" if yes else "no"} for n, yes in enumerate(accepted)]
    graders = [wb.Contains(expected="yes", name="g"), wb.Contains(expected="no", name="turned round")]
    return wb.Suite(graders).run(rows, progress=False), truth


def labelled(report, truth, order, n, start=0):
    """A labeller's labels of n rows of a queue, without errors."""
    queue, made = (
        LabelQueue(order, report.samples, report=report, grader="g"),
        using.labels_of(report.samples, None, None),
    )
    for row in queue.rows[start : start + n]:
        name = str(report.samples.ids[row])
        made.note_drawn(name, queue.drawn(int(row)))
        made.put(name, bool(truth[row]))
    return made


@pytest.mark.parametrize("grader", ["g", "turned round"])
@pytest.mark.parametrize("start", [0, 150, 300])
def test_intervals_hold_the_truth_under_class_balanced_labels(many, grader, start):
    """Read as if drawn at random, the rates are wrong; weighted by how they were drawn, they are right for any grader."""
    report, truth = many
    made = labelled(report, truth, "class-balanced", 250, start)
    counted, whole = made.weighted(report.samples), report.agreement(grader, truth.tolist())
    found = report.agreement(grader, counted.labels, weights=counted.weights)
    naive = report.agreement(grader, counted.labels)
    for name in ("kappa", "sensitivity", "specificity", "observed", "base_rate"):
        lo, hi = getattr(found, name).interval()
        assert lo <= getattr(whole, name).value <= hi, name
    lo, hi = found.corrected.interval() if grader == "g" else (0, 1)
    assert lo <= truth.mean() <= hi
    lo, hi = naive.sensitivity.interval()
    assert not lo <= whole.sensitivity.value <= hi
    assert found.sensitivity.value == pytest.approx(whole.sensitivity.value, abs=0.03)
    made.storage.close()


@pytest.mark.parametrize("order", ["random", "class-balanced"])
def test_findings_do_not_blame_a_good_grader(many, order):
    """A grader that is neither too strict nor too lenient gets no such finding, however rows were drawn."""
    report, truth = many
    made = labelled(report, truth, order, 300)
    kinds = {
        one.kind
        for one in report.diagnose(labels=made.for_rates(report.samples)).findings
        if one.grader == "g" and one.is_verdict
    }
    assert not {"too-strict", "disagrees-with-labels"} & kinds
    with_all = report.diagnose(labels=made.for_display(report.samples)).findings
    blamed = {one.kind for one in with_all if one.grader == "g" and one.severity != "within_limit"}
    assert ("too-strict" in blamed) == (order == "class-balanced"), "it is these labels that would blame it"
    made.storage.close()


def test_labels_of_all_rows_count_alike(many):
    """Labelling the whole queue gives the same numbers as the report's own labels."""
    report, truth = many
    small = wb.Report(report.samples.head(60), {"g": restricted(report, np.arange(60)).grades["g"]})
    made = labelled(small, truth, "class-balanced", 60)
    counted = made.weighted(small.samples)
    found = small.agreement("g", counted.labels, weights=counted.weights)
    assert found.lines == small.agreement("g", truth[:60].tolist()).lines
    made.storage.close()


def test_a_store_that_was_given_is_left_open(tmp_path):
    """Closing closes what was opened here, and nothing else."""
    store = wb.open_store(f"sqlite:///{tmp_path}/l.db")
    labels = using.labels_of(SAMPLES, None, store)
    labels.put("row-1", True)
    labels.storage.close()
    assert store.labels.latest(dataset=labels.dataset)["row-1"].value is True
    assert not labels.storage.in_memory
    store.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([True, False, None])), max_size=8),
    st.integers(0, 8),
)
def test_puts_and_undos_leave_what_the_store_says(moves, undone):
    """After any labels and undos the session has the labels of the store, which are the first ones."""
    labels = using.labels_of(SAMPLES, None, None)
    for row, value in moves:
        labels.put(f"row-{row}", value)
    for _ in range(min(undone, len(moves))):
        labels.undo()
    held = {name: label.value for name, label in labels.latest.items()}
    assert held == {
        name: label.value
        for name, label in labels.storage.store.labels.latest(dataset=labels.dataset).items()
    }
    assert held == {f"row-{row}": value for row, value in moves[: len(moves) - min(undone, len(moves))]}
    labels.storage.close()


def test_the_usual_file_that_cannot_be_is_memory_with_a_warning(tmp_path, monkeypatch):
    """In a read-only folder the app continues, and warns that nothing outlives the kernel."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workbench.db").mkdir()  # root may write anywhere: a folder in its place refuses everybody
    labels = using.labels_of(wb.Samples(using.ROWS), None, "sqlite:///workbench.db")
    labels.put(str(labels.samples.ids[0]), True)
    assert (labels.storage.url, labels.storage.in_memory) == ("", True)
    assert "only in memory" in labels.storage.warning
    labels.storage.close()
    asked = using.labels_of(wb.Samples(using.ROWS), None, str(tmp_path / "workbench.db"))
    with pytest.raises(wb.errors.StoreError):
        asked.put("x", True)
