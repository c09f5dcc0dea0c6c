"""Labels and the order of rows to label, without widgets."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.widgets import using
from workbench.errors import WorkbenchError
from workbench.widgets.labelling import ORDERS, Labelling, Queue

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
    graders = [*using.GRADERS, wb.CustomGrader.of(fails, name="fails")]
    return wb.Suite(graders).run(SAMPLES.head(n), progress=False)


@pytest.fixture
def labelling(tmp_path):
    """Labels over a column, in a store on disk."""
    made = Labelling(SAMPLES, "good", f"sqlite:///{tmp_path}/l.db", labeller="ada")
    yield made
    made.close()


@given(
    st.sampled_from(list(ORDERS)), st.sampled_from([0, 1, 7, 24]), st.sampled_from([None, "exact", "no such", "fails"]),
    st.booleans(),
)  # fmt: skip
def test_every_order_is_a_permutation(order, n, grader, run):
    """Each row of a report, with failed rows too, or of samples without one, stands in the queue once."""
    queue = Queue(order, SAMPLES.head(n), report=report_of(n) if run else None, grader=grader)
    assert sorted(queue.rows.tolist()) == list(range(n))
    assert len(queue) == n


@given(st.lists(st.integers(0, 23), unique=True), st.sets(st.integers(0, 23)))
def test_next_is_the_first_that_nobody_decided(shown, decided):
    """The rows shown, in their order, less those decided; done counts the others."""
    queue = Queue("as shown", SAMPLES, report=REPORT, shown=shown)
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
        one, two = (Queue(order, SAMPLES, report=REPORT).rows.tolist() for _ in range(2))
        assert one == two
    with pytest.raises(WorkbenchError, match="class-balanced"):
        Queue("by chance", SAMPLES)


def test_a_persons_label_goes_before_the_columns(labelling):
    """Known is the column, but for rows that people labelled; a skip leaves the column's."""
    assert labelling.known(SAMPLES) == [bool(n % 2) for n in range(24)]
    labelling.put("row-1", False)
    labelling.put("row-3", None)
    labelling.put("row-2", True, "note")
    known = labelling.known(SAMPLES.take([1, 2, 3, 4]))
    assert known == [False, True, True, False]
    assert labelling.people(SAMPLES.take([1, 2, 3])) == [False, True, None]
    assert labelling.counts == {"good": 1, "bad": 1, "skipped": 1}


def test_undo_takes_back_the_last_one_and_no_one_elses(labelling):
    """The last label of this session goes; what another gave of the row is there again."""
    other = wb.open_store(labelling.store_url)
    other.labels.put("row-5", True, labeller="bob", dataset=labelling.dataset)
    labelling.reload()
    labelling.put("row-5", False)
    assert labelling.held["row-5"].value is False
    assert labelling.undo() == "row-5"
    assert labelling.held["row-5"].value is True
    with pytest.raises(WorkbenchError, match="no label of this session"):
        labelling.undo()
    other.close()


def test_nothing_is_known_without_labels():
    """Without column and labels there is nothing, rather than a list of unknowns."""
    labelling = Labelling(SAMPLES, None, None)
    assert labelling.known(SAMPLES) is None
    assert labelling.people(SAMPLES) is None
    assert labelling.code_for("rows") == ""
    labelling.put("row-1", True)
    assert labelling.known(SAMPLES.take([0, 1])) == [None, True]
    labelling.close()


def test_the_datasets_name_is_its_files_or_its_contents(tmp_path):
    """A file gives its name; a frame a name of what it says; other content, another name; odd files names that fit."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "p", "completion": "c"}\n', "utf-8")
    assert Labelling(wb.read_samples(path), None, None).dataset == "rows.jsonl"
    names = {
        Labelling(wb.read_samples(rows), None, None).dataset
        for rows in (using.ROWS, using.ROWS[:5], using.ROWS[:5])
    }
    assert len(names) == 2
    odd = tmp_path / ("\u202e" + "x" * 190 + ".jsonl")
    odd.write_text('{"prompt": "p", "completion": "c", "id": "a"}\n', "utf-8")
    labelling = Labelling(wb.read_samples(odd), None, None)
    labelling.put("a", True)
    assert labelling.held["a"].value is True
    labelling.close()


def test_a_store_that_was_given_is_left_open(tmp_path):
    """Closing closes what was opened here, and nothing else."""
    store = wb.open_store(f"sqlite:///{tmp_path}/l.db")
    labelling = Labelling(SAMPLES, None, store)
    labelling.put("row-1", True)
    labelling.close()
    assert store.labels.latest(dataset=labelling.dataset)["row-1"].value is True
    assert not labelling.in_memory
    store.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([True, False, None])), max_size=8),
    st.integers(0, 8),
)
def test_puts_and_undos_leave_what_the_store_says(moves, undone):
    """After any labels and undos what is held is what the store holds, and the first so many labels."""
    labelling = Labelling(SAMPLES, None, None)
    for row, value in moves:
        labelling.put(f"row-{row}", value)
    for _ in range(min(undone, len(moves))):
        labelling.undo()
    held = {name: label.value for name, label in labelling.held.items()}
    assert held == {
        name: label.value for name, label in labelling.store.labels.latest(dataset=labelling.dataset).items()
    }
    assert held == {f"row-{row}": value for row, value in moves[: len(moves) - min(undone, len(moves))]}
    labelling.close()
