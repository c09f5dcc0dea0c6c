"""How rows were drawn, and what each then stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.widgets.drawn import BALANCED, of_stratum, weights_of
from workbench.widgets.labelling import Labelling
from workbench.widgets.queue import Queue

WORDS = {1: "accepted", 0: "refused", -1: "neither"}


@given(
    st.dictionaries(st.sampled_from([1, 0, -1]), st.tuples(st.integers(1, 50), st.integers(1, 9)), min_size=1)
)
def test_each_class_stands_for_its_share(classes):
    """The labels of a class weigh what its rows are of all, however many they are and whatever the others' sizes."""
    n = sum(size for size, _ in classes.values())
    drawn = [
        of_stratum(verdict, size, n) for verdict, (size, labels) in classes.items() for _ in range(labels)
    ]
    weights = weights_of(drawn)
    assert sum(weights) == pytest.approx(len(drawn))
    for verdict, (size, _) in classes.items():
        mine = [one for one, said in zip(weights, drawn, strict=True) if said == of_stratum(verdict, size, n)]
        assert sum(mine) / len(drawn) == pytest.approx(size / n)


def test_a_label_says_its_class():
    """In words that its store keeps."""
    assert [of_stratum(verdict, 3, 8) for verdict in WORDS] == [
        f"{BALANCED} {word} 3/8" for word in WORDS.values()
    ]


def test_labels_that_do_not_say_their_class_count_as_before():
    """Older ones are told apart by the share alone; with newer ones they go to the class that has it."""
    old, older = f"{BALANCED} 3/4", f"{BALANCED} 1/4"
    assert weights_of([old, old, older]) == pytest.approx([1.125, 1.125, 0.75])
    assert weights_of([old, of_stratum(1, 3, 4), older]) == pytest.approx([1.125, 1.125, 0.75])
    both = [of_stratum(1, 2, 4), of_stratum(0, 2, 4), f"{BALANCED} 2/4"]
    assert weights_of(both) == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(
    "drawn", ["class-balanced", "class-balanced 4/3", "class-balanced odd 1/2", "as shown", "no idea"]
)
def test_other_rows_have_no_weight(drawn):
    """They were chosen; what cannot be read is nothing that a rate may rest on."""
    assert weights_of([drawn, "", "random"]) == [None, 1.0, 1.0]


@pytest.mark.parametrize("accepted", [19, 20, 21])
def test_classes_of_one_size_are_two_classes(accepted):
    """All accepted rows and two of the refused ones labelled, all good: half of the refusals are still unknown."""
    rows = [{"prompt": f"p{n}", "completion": "yes" if n < accepted else "no"} for n in range(40)]
    report = wb.Contains(expected="yes", name="g").run(rows, progress=False)
    made = Labelling(report.samples, None, None)
    queue, refused = Queue(BALANCED, report.samples, report=report), 0
    for row in map(int, queue.rows):
        refused += row >= accepted
        if row < accepted or refused <= 2:
            made.put(str(report.samples.ids[row]), True, drawn=queue.drawn(row))
    counted = made.counted(report.samples)
    found = report.agreement("g", counted.labels, weights=counted.weights)
    assert counted.n == accepted + 2
    assert found.observed.value == pytest.approx(accepted / 40)
    made.close()
